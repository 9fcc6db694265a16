// Lists and dictionaries as Python writes them, read as JSON.
#pragma once

#include <string>
#include <string_view>

#include <cupilot/result.hpp>

#include "task/json_reader.hpp"

namespace cupilot {

// One dictionary, or assignments `name = literal` and `name["key"] = literal` as a script holds
// them, `name = dict()` among them. Nothing is run: what is no literal is an error that names its
// line.
Result<Json> read_python_object(std::string_view text, const std::string& origin);

}  // namespace cupilot
