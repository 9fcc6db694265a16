// The words of a task file, in the order of their enumerations.
#pragma once

#include <array>
#include <string_view>

namespace cupilot {

inline constexpr std::array<std::string_view, 3> axis_kinds = {"free", "reduced", "fixed"};
inline constexpr std::array<std::string_view, 4> roles = {"in", "out", "in_out", "constant"};
inline constexpr std::array<std::string_view, 11> fill_kinds = {
    "normal",       "uniform",       "integers", "labels", "boolean", "signs",
    "one_hot_rows", "unit_sum_rows", "zeros",    "ones",   "file"};
inline constexpr std::array<std::string_view, 5> structures = {"dense", "upper", "lower",
                                                               "symmetric", "diagonal"};
inline constexpr std::array<std::string_view, 3> fill_values = {"any", "finite", "range"};
inline constexpr std::array<std::string_view, 5> check_kinds = {"within", "bitwise", "index_of",
                                                                "close", "custom"};
inline constexpr std::array<std::string_view, 3> stage_kinds = {"map", "fold", "scan"};
inline constexpr std::array<std::string_view, 6> combine_names = {"sum", "prod", "max",
                                                                  "min", "maxn", "minn"};

}  // namespace cupilot
