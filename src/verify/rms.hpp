// Judges an output of a graph by root mean squares: a kernel's errors against those of honest
// executions (docs/formats/numerics.md, Programs).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <cupilot/task.hpp>

namespace cupilot {

// Outputs of fewer elements tell too little about a root mean square.
inline constexpr std::int64_t least_for_rms = 16;

// True for outputs that are judged so: floating and within a bound, without strides.
bool is_judged_by_rms(const Tensor& tensor);

// One output on one content, element by element.
struct HonestOutput {
  std::span<const double> want;  // the reference
  std::span<const double> err0;  // the largest error of the honest executions
  std::int64_t line = 1;         // elements of a line, the last dimension
  double per_value = 0;          // factor of |want| that is granted always
  double tiny = 0;
};

struct RmsVerdict {
  bool ok = true;
  double ratio = 0;         // the worst error / what is allowed
  std::int64_t first = -1;  // the first element of the lines at fault; -1: of the whole output
  std::int64_t count = 0;   // elements of these
  double error = 0, allowed = 0;
  std::int64_t looked_at = 0;  // elements of the output whose reference and honest error are finite
  std::string_view measure;    // "rms" or "largest"
};

// Elements whose reference or honest error is not finite are not looked at.
RmsVerdict judge_by_rms(const HonestOutput& output, std::span<const double> got);

}  // namespace cupilot
