#include "agents/propose/start_values.hpp"

#include <array>

#include "agents/toy_tunable.hpp"

using namespace cupilot;

namespace {

std::int64_t start_of(const Space& space, const std::string& technique,
                      const std::string& parameter) {
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
  const std::vector<std::int64_t> fine = {16,  32,  48,  64,  80,  96,  112, 128,
                                          144, 160, 176, 192, 208, 224, 240, 256};
  const Row table[] = {
      {4096, 4096, {64, 128}, {64, 128, 256}, 128, 256},  // full as it is
      {64, 8192, {64}, fine, 64, 64},                     // more steps of the domain than doublings
      {64, 8192, {64, 128}, {16, 256}, 128, 16},          // what gains nothing stays
      {16, 64, {16, 32}, {16, 32}, 32, 16},               // too small for any
      {512, 512, {32, 64, 128}, {32, 64, 128}, 32, 64},   // by turns
  };
  for (const Row& row : table) {
    INFO(row.m << 'x' << row.n);
    std::vector<Knob> knobs = {{"t", "m", row.tiles_m, row.tiles_m.back()},
                               {"t", "n", row.tiles_n, row.tiles_n.back()}};
    fill_machine(
        knobs, {0, 1},
        [&](const auto& values) { return cdiv(row.m, values[0]) * cdiv(row.n, values[1]); }, 125);
    CHECK(knobs[0].fallback == row.block_m);
    CHECK(knobs[1].fallback == row.block_n);
  }
}

TEST_CASE("K is split where smaller tiles make no more blocks", "[start_values]") {
  for (const auto& [n, columns, split] :
       {std::array<std::int64_t, 3>{8192, 64, 1}, {2048, 32, 1}, {1024, 32, 2}, {256, 32, 8}}) {
    INFO(n);
    std::vector<Knob> knobs = {{"t", "columns", {32, 64}, 64}, {"t", "split", {1, 2, 4, 8}, 1}};
    fill_machine(
        knobs, {0, 1}, [n = n](const auto& v) { return cdiv(n, v[0]) * v[1]; }, 64);
    CHECK(knobs[0].fallback == columns);
    CHECK(knobs[1].fallback == split);
  }
}

TEST_CASE("tiles are no larger than the output", "[start_values]") {
  std::vector<Knob> knobs = {{"t", "rows", {8, 16, 24, 32, 64}, 64},
                             {"t", "columns", {32, 64}, 64}};
  const auto blocks_of = [](std::int64_t m, std::int64_t most) {
    return [=](const auto& v) { return v[0] > most ? 0 : cdiv(m, v[0]) * cdiv(4096, v[1]); };
  };
  for (const auto& [m, most, rows] :
       {std::array<std::int64_t, 3>{1, 64, 8}, {17, 64, 24}, {100, 64, 64}, {1, 16, 8}}) {
    INFO(m);
    std::vector<Knob> fitted = knobs;
    fit_tiles(fitted, {0, 1}, blocks_of(m, most));
    CHECK(fitted[0].fallback == rows);
    CHECK(fitted[1].fallback == 64);
  }
}

TEST_CASE("a value of unknown blocks is no place to start", "[start_values]") {
  std::vector<Knob> knobs = {{"t", "n", {16, 48, 64, 256}, 256}};
  const BlockCount blocks = [](const auto& values) {
    return values[0] % 64 == 0 ? 4096 / values[0] : 0;
  };
  fill_machine(knobs, {0}, blocks, 125);
  CHECK(knobs[0].fallback == 64);
}

TEST_CASE("searches of few rows start with a block for every SM", "[start_values]") {
  for (const std::int64_t n : {8192, 4096}) {
    const Task task = gemm_of(16, n, 4096, DType::bf16);
    const auto space = make_space(task, h200(), builtin_tunables());
    REQUIRE(space);
    INFO(n);
    CHECK(start_of(**space, "warpgroup_tile", "tile_n") == n / 128);
    CHECK(start_of(**space, "gemv", "columns") == 32);
    CHECK(start_of(**space, "gemv", "rows") == 16);
    CHECK(start_of(**space, "swap_operands", "rows") ==
          16);  // one tile spans them: two would read B twice
    CHECK(start_of(**space, "swap_operands", "split") == 8192 / n);  // 64 columns a block
  }
}

TEST_CASE("a start is legal by every restriction on one knob", "[start_values]") {
  const auto space = make_space(gemm_of(1, 4096, 4096), h200(), builtin_tunables());
  REQUIRE(space);
  CHECK(start_of(**space, "gemv", "rows") == 1);  // the plain pipe takes up to eight
  CHECK(start_of(**space, "gemv", "columns") == 32);
}

TEST_CASE("what is no side of a tile keeps its value", "[start_values]") {
  const auto space = make_space(gemm_of(4096, 4096, 4096), h200(), builtin_tunables());
  REQUIRE(space);
  CHECK(start_of(**space, "k_slab", "block_k") ==
        16);  // the number of slabs bounds that of parts, and so of blocks
}
