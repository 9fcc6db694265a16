// Chips as data. A new chip is a row here, or a DeviceSpec that a program fills itself. Limits of
// an SM are those of the CUDA C++ Programming Guide's table of compute capabilities
// (8.0, 8.9, 9.0); clocks are boost clocks; every other number says its source.
#include <cupilot/parts/device.hpp>

#include <fmt/core.h>

namespace cupilot {
namespace {

constexpr double tera = 1e12;

// Rates in the order of Precision: fp64, fp32_strict, fp32_emulated, bf16x3, tf32, fp16, bf16,
// fp8_promoted, fp8, integer. An emulated class is its pipe's rate over its products: fp32_emulated
// three tf32 or six bf16 (whichever is more), bf16x3 three bf16.
struct Rates {
  double fp64, fp32, tf32, fp16, bf16, fp8, integer;
};

constexpr std::array<double, 10> by_class(const Rates& r) {
  const double emulated = r.tf32 / 3 > r.bf16 / 6 ? r.tf32 / 3 : r.bf16 / 6;
  return {r.fp64 * tera, r.fp32 * tera, emulated * tera, r.bf16 / 3 * tera, r.tf32 * tera,
          r.fp16 * tera, r.bf16 * tera, r.fp8 * tera,    r.fp8 * tera,      r.integer * tera};
}

DeviceSpec hopper(std::string name, std::string label) {
  DeviceSpec spec;
  spec.name = std::move(name);
  spec.label = std::move(label);
  spec.arch = "sm_90a";
  // Peak: H100 SXM datasheet, dense, fp64 by its tensor pipe; integer is the plain pipe (64
  // multiply-adds a clock and SM). Sustained: one H200 of driver 580.159; tensor rates by mma.sync,
  // which tops out near two thirds of wgmma.
  spec.peak_flops = by_class({66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 33.5});
  spec.sustained_flops = by_class({33.3, 63.7, 326, 653, 653, 1306, 31.9});
  return spec;
}

DeviceSpec h200() {
  DeviceSpec spec = hopper("h200", "NVIDIA H200");
  spec.dram_sustained = 4.35e12;
  spec.l2_bytes_per_s = 9.2e12;
  spec.source =
      "peaks: NVIDIA H200 datasheet (4.8 TB/s; H100 SXM rates); sustained: measured on one H200, "
      "driver 580.159, CUDA 13.0";
  return spec;
}

DeviceSpec h100() {
  DeviceSpec spec = hopper("h100", "NVIDIA H100 SXM");
  spec.dram_bytes_per_s = 3.35e12;
  spec.dram_sustained = 3.03e12;
  spec.l2_bytes_per_s = 9.2e12;
  spec.memory_bytes = 80ll << 30;
  spec.source =
      "peaks: NVIDIA H100 SXM datasheet (3.35 TB/s); sustained: an H200's, memory scaled to its "
      "bandwidth; L2 and launch: an "
      "H200's";
  return spec;
}

DeviceSpec a100() {
  DeviceSpec spec;
  spec.name = "a100";
  spec.label = "NVIDIA A100 SXM 80GB";
  spec.arch = "sm_80";
  spec.compute_major = 8;
  spec.sms = 108;
  spec.clock_hz = 1.41e9;
  spec.dram_bytes_per_s = 2.039e12;
  spec.dram_sustained = 1.78e12;
  spec.l2_bytes_per_s = 4.5e12;
  spec.l2_bytes = 40ll << 20;
  spec.memory_bytes = 80ll << 30;
  spec.shared_per_block = 166912;
  spec.shared_per_sm = 167936;
  // fp64 by its tensor pipe; no fp8. Integer: 64 multiply-adds a clock and SM.
  spec.peak_flops = by_class({19.5, 19.5, 156, 312, 312, 0, 19.5});
  spec.sustained_flops = by_class({18.5, 18.5, 140, 280, 280, 0, 18.5});
  spec.source =
      "peaks: NVIDIA A100 80GB SXM datasheet (2039 GB/s, 40 MB L2); sustained estimated at 0.87 to "
      "0.95 of peak, L2 rate at 2.2 "
      "of "
      "DRAM's; launch: an H200's";
  return spec;
}

// Consumer and inference chips of Ada: 100 KiB of shared memory an SM, 1536 threads, no fast fp64.
DeviceSpec ada(std::string name, std::string label) {
  DeviceSpec spec;
  spec.name = std::move(name);
  spec.label = std::move(label);
  spec.arch = "sm_89";
  spec.compute_major = 8;
  spec.compute_minor = 9;
  spec.shared_per_block = 101376;
  spec.shared_per_sm = 102400;
  spec.threads_per_sm = 1536;
  spec.blocks_per_sm = 24;
  return spec;
}

DeviceSpec rtx4090() {
  DeviceSpec spec = ada("rtx4090", "NVIDIA GeForce RTX 4090");
  spec.sms = 128;
  spec.clock_hz = 2.52e9;
  spec.dram_bytes_per_s = 1.008e12;
  spec.dram_sustained = 0.92e12;
  spec.l2_bytes_per_s = 5.0e12;
  spec.l2_bytes = 72ll << 20;
  spec.memory_bytes = 24ll << 30;
  // Tensor rates with fp32 accumulation: half of those with fp16 accumulation on this chip.
  spec.peak_flops = by_class({1.29, 82.6, 82.6, 165.2, 165.2, 330.3, 41.3});
  spec.sustained_flops = by_class({1.2, 76, 76, 150, 150, 300, 38});
  spec.source =
      "peaks: NVIDIA Ada GPU architecture whitepaper, table of the RTX 4090 (1008 GB/s, 72 MB L2); "
      "sustained estimated at 0.91 "
      "to "
      "0.93 of peak, L2 rate at 5 of DRAM's; launch: an H200's";
  return spec;
}

DeviceSpec l4() {
  DeviceSpec spec = ada("l4", "NVIDIA L4");
  spec.sms = 58;
  spec.clock_hz = 2.04e9;
  spec.dram_bytes_per_s = 0.3e12;
  spec.dram_sustained = 0.265e12;
  spec.l2_bytes_per_s = 2.0e12;
  spec.l2_bytes = 48ll << 20;
  spec.memory_bytes = 24ll << 30;
  spec.peak_flops = by_class({0.473, 30.3, 60.5, 121, 121, 242.5, 15.1});
  spec.sustained_flops = by_class({0.45, 20, 40, 80, 80, 160, 10});
  spec.source =
      "peaks: NVIDIA L4 datasheet (300 GB/s, 48 MB L2; its sparse tensor rates halved); sustained "
      "estimated under its 72 W "
      "limit, L2 "
      "rate at 6.7 of DRAM's; launch: an H200's";
  return spec;
}

struct Row {
  std::string_view name;
  DeviceSpec (*make)();
};
constexpr Row rows[] = {
    {"h200", h200}, {"h100", h100}, {"a100", a100}, {"rtx4090", rtx4090}, {"l4", l4}};

}  // namespace

std::vector<std::string> known_chips() {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

Result<DeviceSpec> chip(std::string_view name) {
  std::string known;
  for (const Row& row : rows) {
    if (row.name == name) return row.make();
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{ErrorCode::usage, fmt::format("no chip is called \"{}\"", name),
               "known chips: " + known};
}

}  // namespace cupilot
