#include "backend/oracle/piecewise_input.hpp"

#include <algorithm>

namespace cupilot {

std::optional<PiecewiseInput> PiecewiseInput::of(const FillParams& params) {
  PiecewiseInput input;
  input.params_ = params;
  std::int64_t place = 1;
  for (int d = params.rank - 1; d >= 0; --d) {
    if (params.extents[d] > 1)
      input.dimensions_.push_back({params.strides[d], params.extents[d], place});
    place *= params.extents[d];
  }
  std::sort(input.dimensions_.begin(), input.dimensions_.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  std::int64_t reach = 0;  // of the dimensions with smaller strides
  for (const Dimension& d : input.dimensions_) {
    if (d.stride <= reach) return std::nullopt;
    reach += (d.extent - 1) * d.stride;
  }
  std::reverse(input.dimensions_.begin(), input.dimensions_.end());
  return input;
}

void PiecewiseInput::make(std::int64_t first, std::span<std::byte> bytes) const {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  const auto count = static_cast<std::int64_t>(bytes.size()) / storage_bytes(params_.type);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = first + i, index = 0;
    for (const Dimension& d : dimensions_) {
      const std::int64_t step = std::min(rest / d.stride, d.extent - 1);
      rest -= step * d.stride;
      index += step * d.place;
    }
    if (rest == 0) store_bits(bytes.data(), i, params_.type, fill_bits(params_, index));
  }
}

}  // namespace cupilot
