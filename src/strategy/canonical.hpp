// The one text that stands for a strategy's identity.
#pragma once

#include <string>

#include <cupilot/strategy.hpp>

namespace cupilot {

// Canonical JSON: techniques sorted; default parameters, empty fields, prose and parents left out.
std::string canonical_json(const Strategy& strategy);

}  // namespace cupilot
