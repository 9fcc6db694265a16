#include "catch.hpp"

#include <cupilot/parts/device.hpp>

using namespace cupilot;

TEST_CASE("resident blocks agree with the CUDA occupancy calculator", "[roofline]") {
  struct Row {
    const char* chip;
    int threads, registers;
    std::int64_t shared;
    int blocks;
  };
  const Row row = GENERATE(values<Row>({
      {"h200", 256, 32, 0, 8},          // threads
      {"h200", 32, 16, 0, 32},          // blocks
      {"h200", 256, 33, 0, 6},          // 40 registers a thread
      {"h200", 256, 128, 0, 2},         // registers
      {"h200", 256, 129, 0, 1},         // 136 registers: 15 warps' worth in four banks of 3
      {"h200", 384, 168, 0, 1},         //
      {"h200", 1024, 64, 0, 1},         //
      {"h200", 1024, 65, 0, 0},         // does not fit
      {"h200", 128, 255, 0, 2},         //
      {"h200", 128, 256, 0, 0},         // no thread has so many
      {"h200", 128, 32, 48 << 10, 4},   // shared memory and the reserved kilobyte
      {"h200", 128, 32, 232448, 1},     //
      {"h200", 128, 32, 232449, 0},     //
      {"h200", 128, 32, 115712, 2},     //
      {"h200", 128, 32, 115713, 1},     //
      {"h200", 33, 32, 0, 32},          // two warps
      {"h200", 0, 32, 0, 0},            //
      {"h200", 1025, 32, 0, 0},         //
      {"a100", 128, 32, 166912, 1},     //
      {"a100", 128, 32, 81920, 2},      //
      {"l4", 256, 32, 0, 6},            // 1536 threads
      {"l4", 32, 32, 0, 24},            //
      {"l4", 128, 32, 101376, 1},       //
      {"h100", 128, 32, 57344, 4},      // four times 57 KiB fill an SM
      {"h100", 128, 32, 57345, 3},      // 128 bytes more each
      {"h200", 128, 32, 45666, 4},      // five would fit, were they not rounded up to 128 bytes
      {"rtx4090", 128, 32, 33076, 2},   // and three here
      {"a100", 256, 32, 0, 8},          //
      {"a100", 128, 32, 40960, 4},      // 41 KiB each of 164
      {"a100", 128, 32, 166913, 0},     //
      {"a100", 96, 80, 0, 8},           // 24 warps of 80 registers fit; three a block
      {"rtx4090", 512, 32, 0, 3},       //
      {"rtx4090", 1024, 32, 0, 1},      // 1536 threads hold one
      {"rtx4090", 768, 40, 0, 2},       // 48 warps of 40 registers fit
      {"rtx4090", 128, 128, 0, 4},      //
      {"rtx4090", 128, 32, 16384, 5},   // 17 KiB each of 100
      {"rtx4090", 128, 32, 101377, 0},  //
  }));
  INFO(row.chip << " " << row.threads << " " << row.registers << " " << row.shared);
  CHECK(resident_blocks(*chip(row.chip), row.threads, row.registers, row.shared) == row.blocks);
}

TEST_CASE("what limits residency is named, with what each resource would let", "[roofline]") {
  struct Row {
    const char* chip;
    int threads, registers;
    std::int64_t shared;
    const char* limit;
    int by_threads, by_registers, by_shared, by_slots;
  };
  const Row row = GENERATE(values<Row>({
      {"h200", 256, 32, 0, "threads", 8, 8, 228, 32},
      {"h200", 64, 32, 0, "threads", 32, 32, 228, 32},  // the first of equals
      {"h200", 256, 128, 0, "registers", 8, 2, 228, 32},
      {"h200", 128, 32, 100000, "shared", 16, 16, 2, 32},
      {"h200", 32, 16, 0, "slots", 64, 128, 228, 32},
      {"rtx4090", 256, 0, 0, "threads", 6, 24, 100,
       24},  // registers unknown: no limit but the slots
      {"a100", 1025, 32, 0, "threads", 0, 1, 164, 32},
      {"l4", 128, 256, 0, "registers", 12, 0, 100, 24},
  }));
  INFO(row.chip << " " << row.threads << " " << row.registers << " " << row.shared);
  const Residency r = residency(*chip(row.chip), row.threads, row.registers, row.shared);
  CHECK(r.limit == row.limit);
  CHECK(r.threads == row.by_threads);
  CHECK(r.registers == row.by_registers);
  CHECK(r.shared == row.by_shared);
  CHECK(r.slots == row.by_slots);
}

TEST_CASE("limits of an SM are those of its compute capability", "[roofline]") {
  struct Row {
    const char *chip, *arch;
    int threads, slots, shared_sm, shared_block;  // KiB
  };
  const Row row = GENERATE(values<Row>({{"h200", "sm_90a", 2048, 32, 228, 227},
                                        {"h100", "sm_90a", 2048, 32, 228, 227},
                                        {"a100", "sm_80", 2048, 32, 164, 163},
                                        {"rtx4090", "sm_89", 1536, 24, 100, 99},
                                        {"l4", "sm_89", 1536, 24, 100, 99}}));
  INFO(row.chip);
  const DeviceSpec spec = *chip(row.chip);
  CHECK(spec.arch == row.arch);
  CHECK(spec.threads_per_sm == row.threads);
  CHECK(spec.blocks_per_sm == row.slots);
  CHECK(spec.shared_per_sm == row.shared_sm * 1024);
  CHECK(spec.shared_per_block == row.shared_block * 1024);
  CHECK(spec.registers_per_sm == 65536);
}

// Peaks that no datasheet rounds wrongly: SMs, lanes and clock multiply to them.
TEST_CASE("peak rates are lanes times clock", "[roofline]") {
  struct Row {
    const char* chip;
    double fp32, tensor, integer;  // operations a clock and SM; tensor: bf16, dense, fp32 sums
  };
  const Row row = GENERATE(values<Row>({{"h200", 256, 4096, 128},
                                        {"h100", 256, 4096, 128},
                                        {"a100", 128, 2048, 128},
                                        {"rtx4090", 256, 512, 128},
                                        {"l4", 256, 1024, 128}}));
  INFO(row.chip);
  const DeviceSpec spec = *chip(row.chip);
  const auto peak = [&](Precision p) { return spec.peak_flops[static_cast<std::size_t>(p)]; };
  const double clocks = spec.sms * spec.clock_hz;
  CHECK(peak(Precision::fp32_strict) == Approx(clocks * row.fp32).epsilon(0.01));
  CHECK(peak(Precision::integer) == Approx(clocks * row.integer).epsilon(0.01));
  // A datasheet's tensor rate may rest on a lower clock than the boost clock, never on a higher
  // one.
  CHECK(peak(Precision::bf16) <= 1.01 * clocks * row.tensor);
  CHECK(peak(Precision::bf16) >= 0.9 * clocks * row.tensor);
}

TEST_CASE("every chip is whole", "[roofline]") {
  REQUIRE(known_chips().front() == "h200");
  for (const std::string& name : known_chips()) {
    INFO(name);
    const auto found = chip(name);
    REQUIRE(found);
    const DeviceSpec& spec = *found;
    CHECK(spec.name == name);
    CHECK(spec.arch.rfind("sm_" + std::to_string(spec.compute_major * 10 + spec.compute_minor),
                          0) == 0);
    CHECK_FALSE(spec.source.empty());
    CHECK(spec.dram_sustained <= spec.dram_bytes_per_s);
    CHECK(spec.l2_bytes_per_s > spec.dram_sustained);
    CHECK(spec.shared_per_block + spec.shared_reserved == spec.shared_per_sm);
    for (std::size_t i = 0; i < spec.peak_flops.size(); ++i)
      CHECK(spec.sustained_flops[i] <= spec.peak_flops[i]);
    CHECK(spec.peak_flops[static_cast<std::size_t>(Precision::fp32_strict)] > 0);
  }
  const auto none = chip("h201");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::usage);
  CHECK(none.error().hint.find("h200") != std::string::npos);
}
