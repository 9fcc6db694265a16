// A device for kernels that their author checks, which count as his own and not as hostile.
#pragma once

#include <memory>
#include <string>

#include <cupilot/backend.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct OwnRules {
  // Kernels that the plan does not name are left out. default: they are refused.
  bool leave_others_out = false;
};

// Opens a device as open_backend() does. A virtual one takes kernels that assert, trap, print and
// read clocks: an assertion that fails and a trap are faults, prints show nothing, clocks count
// instructions. Real devices take none of this. Error usage: leave_others_out on a device that is
// not virtual.
Result<std::unique_ptr<Backend>> open_for_own(const std::string& name,
                                              const BackendOptions& options = {},
                                              const OwnRules& rules = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
