#include "backend/cuda/spec.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

namespace cupilot {
namespace {

std::string lower(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

// "NVIDIA H200 NVL" is the known chip "h200"; an unknown one keeps the driver's name.
DeviceSpec known_row(const std::string& name) {
  const std::string words = " " + lower(name) + " ";
  for (const std::string& chip_name : known_chips()) {
    const std::size_t at = words.find(chip_name);
    if (at == std::string::npos || std::isalnum(static_cast<unsigned char>(words[at - 1])) != 0)
      continue;
    if (std::isdigit(static_cast<unsigned char>(words[at + chip_name.size()])) != 0) continue;
    if (auto row = chip(chip_name)) return *row;
  }
  DeviceSpec spec;
  spec.arch.clear();
  spec.name = lower(name);
  std::replace(spec.name.begin(), spec.name.end(), ' ', '-');
  spec.source = "the driver's attributes; peaks estimated from clocks";
  return spec;
}

void estimate_rates(DeviceSpec& spec, const DeviceHello& hello) {
  const double lanes = hello.compute_major == 8 && hello.compute_minor == 0 ? 64 : 128;
  const double fp32 = 2 * lanes * spec.sms * spec.clock_hz;
  const double dram = 2e3 * hello.memory_clock_khz * hello.bus_bits / 8;
  if (dram > 0) {
    spec.dram_bytes_per_s = dram;
    spec.dram_sustained = dram * 0.88;
  }
  spec.l2_bytes_per_s = 2 * spec.dram_bytes_per_s;
  const auto set = [&](Precision precision, double rate) {
    spec.peak_flops[static_cast<std::size_t>(precision)] = rate;
    spec.sustained_flops[static_cast<std::size_t>(precision)] = rate * 0.85;
  };
  set(Precision::fp32_strict, fp32);
  set(Precision::fp32_emulated, fp32 * 2);
  set(Precision::fp64, fp32 / 2);
  set(Precision::integer, fp32 / 2);
  set(Precision::tf32, fp32 * 8);
  set(Precision::bf16x3, fp32 * 6);
  set(Precision::bf16, fp32 * 16);
  set(Precision::fp16, fp32 * 16);
  set(Precision::fp8, fp32 * 32);
  set(Precision::fp8_promoted, fp32 * 32);
}

}  // namespace

DeviceSpec spec_of(const DeviceHello& hello) {
  DeviceSpec spec = known_row(hello.name);
  const bool known = !spec.arch.empty();
  const auto take = [](auto& into, auto value) {
    if (value > 0) into = value;
  };
  spec.label = hello.name;
  spec.compute_major = hello.compute_major;
  spec.compute_minor = hello.compute_minor;
  spec.arch = fmt::format("sm_{}{}{}", hello.compute_major, hello.compute_minor,
                          hello.compute_major >= 9 ? "a" : "");
  take(spec.sms, hello.sms);
  take(spec.clock_hz, hello.clock_khz * 1e3);
  take(spec.l2_bytes, hello.l2_bytes);
  take(spec.memory_bytes, hello.memory_bytes);
  take(spec.shared_per_block, hello.shared_optin);
  take(spec.shared_per_sm, hello.shared_per_sm);
  take(spec.shared_reserved, hello.shared_reserved);
  take(spec.registers_per_sm, hello.registers_per_sm);
  take(spec.threads_per_sm, hello.threads_per_sm);
  take(spec.threads_per_block, hello.threads_per_block);
  take(spec.blocks_per_sm, hello.blocks_per_sm);
  if (!known) estimate_rates(spec, hello);
  return spec;
}

}  // namespace cupilot
