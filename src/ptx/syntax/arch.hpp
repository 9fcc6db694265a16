// Decides if a module may run on an architecture, as the driver does for PTX that no assembler has
// seen.
#pragma once

#include <optional>
#include <string_view>

#include <cupilot/result.hpp>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// nullopt, or Rejected{load.failed}: the module's target does not run on `arch` ("sm_80",
// "sm_90a"), or an instruction asks for more than its target has. Only what sm_80 to sm_90a differ
// in is known.
std::optional<Rejected> check_arch(const Module& module, std::string_view arch);

}  // namespace cupilot::ptx
