// Finds keys of endpoints.
#pragma once

#include <functional>
#include <string>

#include <cupilot/parts/models.hpp>

#include "llm/secret.hpp"

namespace cupilot {

// Error{usage} names the variable or the file, never what it holds: unset, readable by others, no
// key.
Result<Secret> load_key(const KeySource& source, Host& host,
                        const std::function<std::string(const std::string&)>& environment);

}  // namespace cupilot
