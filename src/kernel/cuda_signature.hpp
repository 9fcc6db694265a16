// What a kernel's own text says of its parameters, as far as a launch needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/result.hpp>

namespace cupilot {

struct KernelParameter {
  enum class Kind { pointer, i32, i64, real };
  Kind kind = Kind::pointer;
  std::string name{};
};

// Of the first definition of __global__ `kernel`. Error usage names the parameter whose type a plan
// cannot pass.
Result<std::vector<KernelParameter>> kernel_signature(std::string_view text,
                                                      const std::string& kernel);

}  // namespace cupilot
