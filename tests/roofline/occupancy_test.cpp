#include "catch.hpp"

#include <cupilot/device.hpp>

using namespace cupilot;

TEST_CASE("resident blocks agree with the CUDA occupancy calculator", "[roofline]") {
  struct Row {
    const char* chip;
    int threads, registers;
    std::int64_t shared;
    int blocks;
  };
  const Row row = GENERATE(values<Row>({
      {"h200", 256, 32, 0, 8},         // threads
      {"h200", 32, 16, 0, 32},         // blocks
      {"h200", 256, 33, 0, 6},         // 40 registers a thread
      {"h200", 256, 128, 0, 2},        // registers
      {"h200", 256, 129, 0, 1},        // 136 registers: 15 warps' worth in four banks of 3
      {"h200", 384, 168, 0, 1},        //
      {"h200", 1024, 64, 0, 1},        //
      {"h200", 1024, 65, 0, 0},        // does not fit
      {"h200", 128, 255, 0, 2},        //
      {"h200", 128, 256, 0, 0},        // no thread has so many
      {"h200", 128, 32, 48 << 10, 4},  // shared memory and the reserved kilobyte
      {"h200", 128, 32, 232448, 1},    //
      {"h200", 128, 32, 232449, 0},    //
      {"h200", 128, 32, 115712, 2},    //
      {"h200", 128, 32, 115713, 1},    //
      {"h200", 33, 32, 0, 32},         // two warps
      {"h200", 0, 32, 0, 0},           //
      {"h200", 1025, 32, 0, 0},        //
      {"a100", 128, 32, 166912, 1},    //
      {"a100", 128, 32, 81920, 2},     //
      {"l4", 256, 32, 0, 6},           // 1536 threads
      {"l4", 32, 32, 0, 24},           //
      {"l4", 128, 32, 101376, 1},      //
  }));
  INFO(row.chip << " " << row.threads << " " << row.registers << " " << row.shared);
  CHECK(resident_blocks(*chip(row.chip), row.threads, row.registers, row.shared) == row.blocks);
}

TEST_CASE("every chip is whole", "[roofline]") {
  REQUIRE(known_chips().front() == "h200");
  for (const std::string& name : known_chips()) {
    INFO(name);
    const auto found = chip(name);
    REQUIRE(found);
    const DeviceSpec& spec = *found;
    CHECK(spec.name == name);
    CHECK(spec.arch.rfind("sm_" + std::to_string(spec.compute_major * 10 + spec.compute_minor), 0) == 0);
    CHECK_FALSE(spec.source.empty());
    CHECK(spec.dram_sustained <= spec.dram_bytes_per_s);
    CHECK(spec.l2_bytes_per_s > spec.dram_sustained);
    CHECK(spec.shared_per_block + spec.shared_reserved == spec.shared_per_sm);
    for (std::size_t i = 0; i < spec.peak_flops.size(); ++i) CHECK(spec.sustained_flops[i] <= spec.peak_flops[i]);
    CHECK(spec.peak_flops[static_cast<std::size_t>(Precision::fp32_strict)] > 0);
  }
  const auto none = chip("h201");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::no_device);
  CHECK(none.error().hint.find("h200") != std::string::npos);
}
