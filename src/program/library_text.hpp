// Texts of the kernels that stand in for libraries' steps, an element a thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cupilot/parts/dtype.hpp>

namespace cupilot {

inline constexpr int stand_in_threads = 256;

// The kernel behind the storage types and names of those that it takes.
std::string library_text(const std::vector<std::pair<std::string_view, DType>>& types,
                         std::string_view kernel);

}  // namespace cupilot
