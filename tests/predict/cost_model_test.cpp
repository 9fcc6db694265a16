#include <cupilot/parts/agents.hpp>

#include <cmath>

#include "catch.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

Task gemm(std::int64_t m, std::int64_t n, std::int64_t k, DType type = DType::bf16) {
  GemmSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.dtype = type;
  return *gemm_task(spec);
}

Strategy wgmma(std::int64_t tile_n, std::int64_t stages, std::int64_t split = 1) {
  Strategy strategy;
  for (const char* name : {"wgmma_core", "tensor_map_copy", "persistent", "shared_swizzle"})
    strategy.uses.push_back({name});
  strategy.uses.push_back({"warp_specialisation", {{"consumers", 2}}});
  strategy.uses.push_back({"warpgroup_tile", {{"tile_m", 64}, {"tile_n", tile_n}}});
  strategy.uses.push_back({"multistage", {{"stages", stages}}});
  if (split > 1) strategy.uses.push_back({"split_k", {{"split", split}}});
  return strategy;
}

// 128 x 128 by mma.sync, slabs through registers 16 bytes at a time.
Strategy mma(const std::vector<Use>& more) {
  Strategy strategy;
  strategy.uses.push_back({"mma_core"});
  strategy.uses.push_back({"block_tile", {{"block_m", 128}, {"block_n", 128}}});
  strategy.uses.push_back({"k_slab", {{"block_k", 32}}});
  strategy.uses.push_back({"warp_tile", {{"warp_m", 64}, {"warp_n", 32}}});
  strategy.uses.push_back({"vector_load", {{"vector", 8}}});
  strategy.uses.insert(strategy.uses.end(), more.begin(), more.end());
  return strategy;
}

double expected_us(const CostModel& forecaster, const Strategy& strategy) {
  const auto forecast = forecaster(strategy);
  REQUIRE(forecast);
  return std::exp2(forecast->log2_us);
}

}  // namespace

TEST_CASE("a forecast follows the machine") {
  const DeviceSpec device = *chip("h200");
  const Task task = gemm(4096, 4096, 4096);
  const CostModel forecaster = make_cost_model(task, device, builtin_tunables());
  const double good = expected_us(forecaster, wgmma(256, 4));
  const auto floor = floor_us(task, task.time_shapes.front(), device, Precision::bf16);
  REQUIRE(floor);
  CHECK(good > *floor);
  CHECK(good < 3 * *floor);
  CHECK(expected_us(forecaster, wgmma(256, 2)) >
        1.1 * good);  // no slab on its way while one is multiplied
  CHECK(expected_us(forecaster, wgmma(16, 4)) >
        2 * good);  // narrow products read shared memory for nothing
  CHECK(expected_us(forecaster, wgmma(256, 4, 16)) >
        1.5 * good);  // sixteen times the result in parts
}

TEST_CASE("copies through registers are priced as the compiler orders them") {
  const CostModel forecaster =
      make_cost_model(gemm(4096, 4096, 4096), *chip("h200"), builtin_tunables());
  const Use split{"split_k", {{"split", 2}}}, whole{"predicated_tail"}, hint{"cache_hint"};
  const double waiting = expected_us(forecaster, mma({split}));
  CHECK(expected_us(forecaster, mma({split, whole})) < 0.7 * waiting);  // issued together
  CHECK(expected_us(forecaster, mma({split, whole, hint})) >
        0.95 * waiting);  // volatile: one after another again
  CHECK(expected_us(forecaster, mma({{"async_copy"}, {"multistage", {{"stages", 3}}}})) <
        0.7 * waiting);
}

TEST_CASE("registers that do not fit cost") {
  const CostModel forecaster =
      make_cost_model(gemm(4096, 4096, 4096), *chip("h200"), builtin_tunables());
  const Use async{"async_copy"}, stages{"multistage", {{"stages", 2}}};
  const double roomy = expected_us(forecaster, mma({async, stages}));
  CHECK(expected_us(forecaster, mma({async, stages, {"launch_bounds", {{"min_blocks", 4}}}})) >
        1.2 * roomy);
}

TEST_CASE("splitting K pays where tiles are few") {
  const CostModel forecaster =
      make_cost_model(gemm(128, 1024, 16384), *chip("h200"), builtin_tunables());
  CHECK(expected_us(forecaster, wgmma(128, 4, 8)) < expected_us(forecaster, wgmma(128, 4)));
}

TEST_CASE("what outcomes teach is believed near them, and at other shapes") {
  const DeviceSpec device = *chip("h200");
  const Task task = gemm(4096, 4096, 4096), other = gemm(2048, 4096, 4096);
  const CostModel before = make_cost_model(task, device, builtin_tunables());
  std::vector<Strategy> seen;
  for (const std::int64_t tile_n : {32, 64, 96, 128, 160, 192, 208, 224}) {
    for (const std::int64_t stages : {2, 3, 4}) seen.push_back(wgmma(tile_n, stages));
  }
  std::vector<KnownTime> outcomes;
  for (std::size_t i = 0; i < seen.size();
       ++i)  // narrow tiles take twice as long as expected, wide ones six times
    outcomes.push_back(
        {&seen[i], (i < seen.size() / 2 ? 2 : 6) * expected_us(before, seen[i]), &task});
  const Strategy narrow = wgmma(48, 4), wide = wgmma(176, 4);
  const CostModel after = make_cost_model(task, device, builtin_tunables(), outcomes);
  CHECK(expected_us(after, narrow) == Approx(2 * expected_us(before, narrow)).epsilon(0.25));
  CHECK(expected_us(after, wide) == Approx(6 * expected_us(before, wide)).epsilon(0.25));
  CHECK(after(wide)->sigma < before(wide)->sigma);
  const CostModel elsewhere = make_cost_model(other, device, builtin_tunables(), outcomes);
  CHECK(expected_us(elsewhere, wide) >
        3 * expected_us(make_cost_model(other, device, builtin_tunables()), wide));
  // A time that is none teaches nothing.
  outcomes.push_back({&seen.front(), std::nan(""), &task});
  outcomes.push_back({nullptr, 5, &task});
  const CostModel same = make_cost_model(task, device, builtin_tunables(), outcomes);
  CHECK(same(wide)->log2_us == after(wide)->log2_us);
}

TEST_CASE("an outcome beyond understanding moves its neighbours little") {
  const DeviceSpec device = *chip("h200");
  const Task task = gemm(4096, 4096, 4096);
  const CostModel before = make_cost_model(task, device, builtin_tunables());
  std::vector<Strategy> seen;
  for (const std::int64_t tile_n : {64, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256}) {
    for (const std::int64_t stages : {3, 4}) seen.push_back(wgmma(tile_n, stages));
  }
  std::vector<KnownTime> outcomes;
  for (const Strategy& strategy : seen)
    outcomes.push_back({&strategy, 1.1 * expected_us(before, strategy), &task});
  const Strategy near = wgmma(208, 2);
  const double usual =
      expected_us(make_cost_model(task, device, builtin_tunables(), outcomes), near);
  outcomes[17].time_us *= 60;  // 208 columns, 4 stages
  const auto after = make_cost_model(task, device, builtin_tunables(), outcomes)(near);
  REQUIRE(after);
  CHECK(std::exp2(after->log2_us) < 1.3 * usual);
  CHECK(after->sigma < 0.3);
}

TEST_CASE("nothing is said of what no model knows") {
  const CostModel forecaster =
      make_cost_model(gemm(512, 512, 512), *chip("h200"), builtin_tunables());
  Strategy unknown;
  unknown.uses.push_back({"no_such_technique"});
  CHECK_FALSE(forecaster(unknown));
  Task other = gemm(512, 512, 512);
  other.family = "stencil";
  CHECK_FALSE(make_cost_model(other, *chip("h200"), builtin_tunables()));
}
