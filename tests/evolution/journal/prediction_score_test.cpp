#include "evolution/journal/prediction_score.hpp"

#include <cmath>

#include <cupilot/parts/agents.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

Strategy wgmma(std::int64_t tile_n) {
  Strategy strategy;
  for (const char* name : {"wgmma_core", "tensor_map_copy", "persistent", "shared_swizzle"})
    strategy.uses.push_back({name});
  strategy.uses.push_back({"warp_specialisation", {{"consumers", 2}}});
  strategy.uses.push_back({"warpgroup_tile", {{"tile_m", 64}, {"tile_n", tile_n}}});
  return strategy;
}

// A run whose kernels of these tiles each took `slower` times what was expected.
RunState run_of(const std::vector<std::int64_t>& tiles, double slower) {
  RunState state;
  GemmSpec spec;
  spec.m = spec.n = spec.k = 4096;
  spec.dtype = DType::bf16;
  state.task = *gemm_task(spec);
  state.header.task_json = *task_to_json(state.task);
  state.header.device = *chip("h200");
  const CostModel forecaster = make_cost_model(state.task, state.header.device, builtin_tunables());
  for (const std::int64_t tile_n : tiles) {
    ResultRecord result;
    result.candidate.strategy = wgmma(tile_n);
    Accepted accepted;
    const auto forecast = forecaster(result.candidate.strategy);
    REQUIRE(forecast);
    accepted.measurement.time_us = slower * std::exp2(forecast->log2_us);
    result.candidate.outcome = std::move(accepted);
    state.events.emplace_back(std::move(result));
  }
  return state;
}

std::string forecast_score(const RunState& state) {
  ForecastScore score(state);
  for (const SearchEvent& event : state.events) score.take(event);
  return score.sentence();
}

const std::vector<std::int64_t> ten = {16, 32, 48, 64, 80, 96, 112, 128, 144, 160};

}  // namespace

TEST_CASE("rank correlation looks at order alone") {
  CHECK(rank_correlation({1, 2, 3, 4}, {1, 10, 100, 1000}) == Approx(1));
  CHECK(rank_correlation({1, 2, 3, 4}, {9, 8, 7, 6}) == Approx(-1));
  CHECK(rank_correlation({1, 2, 3, 4}, {2, 1, 4, 3}) == Approx(0.6));
  CHECK(rank_correlation({1, 1, 2, 2}, {5, 5, 6, 6}) == Approx(1));  // equal values share a rank
  CHECK(rank_correlation({1, 1, 1}, {1, 2, 3}) == 0);
}

TEST_CASE("a run is told how well its kernels were expected") {
  const std::string score = forecast_score(run_of(ten, 2));
  CHECK(score.find("of 10 kernels: rank correlation 1.00, median error 50 %") != std::string::npos);
}

TEST_CASE("few forecasts are not scored") {
  CHECK(forecast_score(run_of({ten.begin(), ten.end() - 1}, 2)).empty());
  RunState other = run_of(ten, 2);
  other.task.family = "stencil";
  other.header.task_json = *task_to_json(other.task);
  CHECK(forecast_score(other).empty());
}
