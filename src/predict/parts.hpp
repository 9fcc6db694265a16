// What the prices of GEMM templates share.
#pragma once

#include <string_view>
#include <vector>

#include "base/norm.hpp"
#include "predict/shapes.hpp"

namespace cupilot {

// What a setting of a template costs at a shape.
struct PricedGemm {
  double us = 0;                    // expected time
  std::vector<double> resources{};  // log2 of what each resource alone would need, and of how well
                                    // the machine is filled
};

double constant_of(const Constants& constants, std::string_view name, double otherwise);

double log2_of(double value);

// Sustained SM clock: the boost clock as far as a full multiply-add load lets it be held.
double sustained_clock(const DeviceSpec& device);

// Bytes of operands that DRAM delivers to tiles of bm by bn of which `places` run at a time: each
// wave of tiles, walked in bands of `group` tile rows, asks anew for the rows and columns it spans.
double operand_dram_bytes(const GemmShape& shape, const DeviceSpec& device, double bm, double bn,
                          double places, double group);

// Share of L2 that data of one launch finds free.
inline constexpr double resident_in_l2 = 0.5;
// Weight of what grows with the problem, among resources: outcomes at one shape should tell of
// another.
inline constexpr double of_size = 0.3;

// Prices by template; price_tiles takes what gemm_setting makes of the others.
PricedGemm price_simt(const Constants& constants, const GemmShape& shape, const DeviceSpec& device);
PricedGemm price_mma(const Constants& constants, const GemmShape& shape, const DeviceSpec& device);
PricedGemm price_wgmma(const Constants& constants, const GemmShape& shape,
                       const DeviceSpec& device);
PricedGemm price_tiles(const GemmSetting& setting, const GemmShape& shape,
                       const DeviceSpec& device);

}  // namespace cupilot
