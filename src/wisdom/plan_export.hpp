// A launch plan as a C++ function of the sizes, over cupilot/runtime/table.hpp.
#pragma once

#include <string>
#include <string_view>

#include <cupilot/wisdom.hpp>

namespace cupilot {

// `inline Plan plan_NAME(const Query& query) {…}`. Error failure when an expression names what the
// plan does not define.
Result<std::string> plan_function(const Task& task, const WisdomKernel& kernel);
// The bytes of each tensor of the task: `inline std::vector<Int> tensor_bytes(const Int* sizes)
// {…}`.
Result<std::string> tensor_bytes_function(const Task& task);
// A name of the task or the plan as a C++ name of its own: dots and words of the language or of the
// generated code are changed.
std::string cpp_name(std::string_view name);

}  // namespace cupilot
