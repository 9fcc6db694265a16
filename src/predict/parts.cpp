#include "predict/parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace cupilot {

double constant_of(const Constants& constants, std::string_view name, double otherwise) {
  const auto found = constants.find(std::string(name));
  return found == constants.end() ? otherwise : static_cast<double>(found->second);
}

double log2_of(double value) { return std::log2(std::max(value, 1e-3)); }

double sustained_clock(const DeviceSpec& device) {
  const auto fp32 = static_cast<std::size_t>(Precision::fp32_strict);
  const bool known = device.peak_flops[fp32] > 0 && device.sustained_flops[fp32] > 0;
  return device.clock_hz * (known ? device.sustained_flops[fp32] / device.peak_flops[fp32] : 1);
}

double operand_dram_bytes(const GemmShape& shape, const DeviceSpec& device, double bm, double bn,
                          double places, double group) {
  const double once = (shape.m + shape.n) * shape.k * shape.bytes * shape.batch;
  if (once < resident_in_l2 * static_cast<double>(device.l2_bytes)) return once;
  const double tiles_m = std::ceil(shape.m / bm), tiles_n = std::ceil(shape.n / bn),
               all = tiles_m * tiles_n;
  const double wave = std::min(places, all), band = std::min(group, tiles_m);
  double rows = std::min(band, wave), columns = std::min(tiles_n, std::max(1.0, wave / band));
  if (wave > band * tiles_n) {
    rows = std::min(tiles_m, wave / tiles_n);
    columns = tiles_n;
  }
  const double a_wave = (rows * bm + columns * bn) * shape.k * shape.bytes;
  return std::max(once, a_wave * all / wave * shape.batch);
}

}  // namespace cupilot
