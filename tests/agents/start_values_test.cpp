#include "agents/start_values.hpp"

#include "toy_tunable.hpp"

using namespace cupilot;

namespace {

std::int64_t start_of(const Space& space, const std::string& technique, const std::string& parameter) {
  for (const Knob& knob : space.knobs()) {
    if (knob.technique == technique && knob.parameter == parameter) return knob.fallback;
  }
  return 0;
}

std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

TEST_CASE("a start is moved, a doubling at a time, to where the chip is full", "[start_values]") {
  struct Row {
    std::int64_t m, n;
    std::vector<std::int64_t> tiles_m, tiles_n;  // domains; both start at their largest value
    std::int64_t block_m, block_n;               // where the start should be
  };
  const std::vector<std::int64_t> fine = {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256};
  const Row table[] = {
      {4096, 4096, {64, 128}, {64, 128, 256}, 128, 256},  // full as it is
      {64, 8192, {64}, fine, 64, 64},                     // more steps of the domain than doublings
      {64, 8192, {64, 128}, {16, 256}, 128, 16},          // what gains nothing stays
      {16, 64, {16, 32}, {16, 32}, 32, 16},               // too small for any
      {512, 512, {32, 64, 128}, {32, 64, 128}, 32, 64},   // by turns
  };
  for (const Row& row : table) {
    INFO(row.m << 'x' << row.n);
    std::vector<Knob> knobs = {{"t", "m", row.tiles_m, row.tiles_m.back()}, {"t", "n", row.tiles_n, row.tiles_n.back()}};
    fill_machine(
        knobs, {0, 1}, [&](const auto& values) { return cdiv(row.m, values[0]) * cdiv(row.n, values[1]); }, 125);
    CHECK(knobs[0].fallback == row.block_m);
    CHECK(knobs[1].fallback == row.block_n);
  }
}

TEST_CASE("a value of unknown blocks is no place to start", "[start_values]") {
  std::vector<Knob> knobs = {{"t", "n", {16, 48, 64, 256}, 256}};
  const BlockCount blocks = [](const auto& values) { return values[0] % 64 == 0 ? 4096 / values[0] : 0; };
  fill_machine(knobs, {0}, blocks, 125);
  CHECK(knobs[0].fallback == 64);
}

TEST_CASE("searches of few rows start with a block for every SM", "[start_values]") {
  struct Row {
    std::int64_t n;
    bool turned;
    std::int64_t tile_n, columns;
  };
  for (const Row& row : {Row{8192, false, 64, 64}, Row{4096, false, 32, 32}, Row{4096, true, 32, 32}}) {
    const Task task = gemm_of(8, row.n, 4096, DType::bf16, row.turned ? "nt" : "nn");
    const auto space = make_space(task, h200(), builtin_tunables());
    REQUIRE(space);
    INFO(row.n << (row.turned ? " turned" : ""));
    CHECK(start_of(**space, "warpgroup_tile", "tile_n") == row.tile_n);
    CHECK(start_of(**space, "gemv", "columns") == row.columns);
  }
}
