// A launch plan as a C++ function of the sizes, over cupilot/runtime/table.hpp.
#pragma once

#include <string>

#include <cupilot/wisdom.hpp>

namespace cupilot {

// `inline Plan plan_NAME(const Query& query) {…}`. Error failure when an expression names what the plan does not define.
Result<std::string> plan_function(const Task& task, const WisdomKernel& kernel);
// The bytes of each tensor of the task: `inline std::vector<Int> tensor_bytes(const Int* sizes) {…}`.
Result<std::string> tensor_bytes_function(const Task& task);
// Text as a C++ string literal.
std::string cpp_quoted(const std::string& text);

}  // namespace cupilot
