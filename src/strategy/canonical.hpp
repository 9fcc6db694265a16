// The one text that stands for a strategy's identity.
#pragma once

#include <string>

#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/strategy.hpp>

namespace cupilot {

// Canonical JSON: techniques sorted; default parameters, empty fields, prose and parents left out.
std::string canonical_json(const Strategy& strategy);
// A program of one part has the form of its strategy.
std::string canonical_json(const ProgramStrategy& program);

}  // namespace cupilot
