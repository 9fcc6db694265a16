#include <cupilot/parts/agents.hpp>

#include <cmath>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"

using namespace cupilot;

namespace {

struct Place {
  Task task;
  CostModel model;
  std::unique_ptr<Space> space;
};

Place at(std::int64_t m, std::int64_t n, std::int64_t k) {
  const DeviceSpec device = *chip("h200");
  GemmSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.dtype = DType::bf16;
  spec.layout = "nt";
  Place place{*gemm_task(spec), {}, {}};
  place.model = make_cost_model(place.task, device, builtin_tunables());
  auto space = make_space(place.task, device, builtin_tunables());
  REQUIRE(space);
  place.space = std::move(*space);
  return place;
}

// Two consumers of 64 x 256 each: as fast as any where the result is large.
Strategy wide() {
  Strategy strategy;
  for (const char* name : {"wgmma_core", "tensor_map_copy", "persistent", "shared_swizzle"})
    strategy.uses.push_back({name});
  strategy.uses.push_back({"warp_specialisation", {{"consumers", 2}}});
  strategy.uses.push_back({"warpgroup_tile", {{"tile_m", 64}, {"tile_n", 256}}});
  strategy.uses.push_back({"multistage", {{"stages", 4}}});
  return strategy;
}

double us(const CostModel& model, const Strategy& strategy) {
  const auto expected = model(strategy);
  REQUIRE(expected);
  return std::exp2(expected->log2_us);
}

bool uses(const Strategy& strategy, const char* technique) {
  return std::any_of(strategy.uses.begin(), strategy.uses.end(),
                     [&](const Use& use) { return use.technique == technique; });
}

}  // namespace

TEST_CASE("a strategy is fitted to sizes that it was not found at") {
  const Place there = at(8192, 8192, 4096);
  struct Row {
    std::int64_t m, n, k;
    double least_gain;  // over the strategy as it is
  };
  // Few tiles, and fewer still.
  for (const Row& row : {Row{1024, 1024, 4096, 1.1}, Row{128, 2048, 8192, 1.3}}) {
    INFO(row.m << " " << row.n << " " << row.k);
    const Place here = at(row.m, row.n, row.k);
    const auto as_is = here.space->complete(wide());
    REQUIRE(as_is);
    const auto fit = fitted(*here.space, wide(), here.model, there.model);
    REQUIRE(fit);
    REQUIRE(fit->size() == 2);
    const Strategy& first = fit->front();
    CHECK(here.space->feasible(first));
    CHECK(uses(first, "wgmma_core"));
    CHECK(us(here.model, as_is->strategy) >= row.least_gain * us(here.model, first));
    CHECK(strategy_id(fit->back()) == strategy_id(as_is->strategy));
    const auto more = fitted(*here.space, wide(), here.model, there.model, 3);
    REQUIRE(more);
    CHECK(more->size() == 4);
    CHECK(strategy_id(more->front()) == strategy_id(first));
    for (std::size_t i = 1; i + 1 < more->size(); ++i) {
      CHECK(us(here.model, (*more)[i]) >= 0.99 * us(here.model, (*more)[i - 1]));
      CHECK(distance(*here.space, (*more)[i], (*more)[i - 1]) >= 0.5);
    }
  }
}

TEST_CASE("a gain that was expected where a strategy was found is half believed") {
  const Place here = at(1024, 1024, 1024);
  const auto start = here.space->complete(wide());
  REQUIRE(start);
  const std::string found = strategy_id(start->strategy);
  // Everything but the strategy itself is faster by so much.
  const auto other_by = [&](double log2) -> CostModel {
    return [found, log2](const Strategy& strategy) -> std::optional<Prediction> {
      return Prediction{strategy_id(strategy) == found ? 10 : 10 - log2, 0.4};
    };
  };
  struct Row {
    double here, there;
    bool moves;
  };
  for (const Row& row : {Row{0.2, 0, true}, Row{0.1, 0.1, false}, Row{0.4, 0.4, true},
                         Row{0.05, 0, false}, Row{0.2, -1, true}}) {
    INFO(row.here << " " << row.there);
    const auto fit = fitted(*here.space, wide(), other_by(row.here), other_by(row.there));
    REQUIRE(fit);
    CHECK((strategy_id(fit->front()) != found) == row.moves);
    CHECK(strategy_id(fit->back()) == found);
  }
  // Nothing is known of the other sizes, or of these.
  const auto known_here = fitted(*here.space, wide(), other_by(0.2), {});
  REQUIRE(known_here);
  CHECK(strategy_id(known_here->front()) != found);
  for (const CostModel& model :
       {CostModel(), CostModel([](const Strategy&) { return std::optional<Prediction>(); })}) {
    const auto unknown = fitted(*here.space, wide(), model, other_by(1));
    REQUIRE(unknown);
    REQUIRE(unknown->size() == 1);
    CHECK(strategy_id(unknown->front()) == found);
  }
}

// Rows of 4096 elements held whole (`fit`) by teams of 128 threads, four neighbours at a time. Rows
// of 3410 forbid that: two neighbours at a time hold 2048, and the nearest numbers give up `fit`.
TEST_CASE("a strategy keeps what its sizes forbid where another number moves instead") {
  const DeviceSpec device = *chip("h200");
  Operation sum{"sum", "logsumexp", {"x"}, {"y"}};
  sum.attributes["dim"] = std::vector<std::int64_t>{1};
  const auto task =
      support::graph_task({support::input("x", {"rows", "cols"}), support::output("y", {"rows"})},
                          {sum}, {{"rows", 36011}, {"cols", 3410}});
  REQUIRE(task);
  const auto templates = templates_of(builtin_families(), *task);
  const auto space = make_space(*task, device, templates);
  REQUIRE(space);
  Strategy found;
  found.uses = {{"vector_load", {{"vector", 4}}},
                {"launch_bounds", {{"min_blocks", 3}}},
                {"register_rows"},
                {"items_per_thread", {{"items", 8}}},
                {"grid_stride", {{"blocks_per_sm", 8}}},
                {"rowwise", {{"team", 128}, {"fit", 1}}}};
  const auto value = [](const Strategy& strategy, const char* technique, const char* name) {
    for (const Use& use : strategy.uses) {
      if (use.technique == technique) return use.values.at(name);
    }
    return std::int64_t{-1};
  };
  const auto nearest = (*space)->complete(found);
  REQUIRE(nearest);
  CHECK(value(nearest->strategy, "rowwise", "fit") == 0);
  // Twice the items, all else as it was found.
  const CostModel model = [&](const Strategy& strategy) -> std::optional<Prediction> {
    const bool kept = value(strategy, "rowwise", "fit") == 1 &&
                      value(strategy, "rowwise", "team") == 128 &&
                      value(strategy, "items_per_thread", "items") == 16 &&
                      value(strategy, "launch_bounds", "min_blocks") == 3 &&
                      value(strategy, "grid_stride", "blocks_per_sm") == 8;
    return Prediction{kept ? 9.0 : 10.0, 0.4};
  };
  const auto fit = fitted(**space, found, model, {});
  REQUIRE(fit);
  CHECK(value(fit->front(), "rowwise", "fit") == 1);
}
