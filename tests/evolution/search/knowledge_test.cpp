// What a run leaves in the strategy pool, and what another one takes from it.
#include "evolution/search/knowledge.hpp"

#include <cmath>
#include <set>

#include "catch.hpp"
#include "evolution/journal/records.hpp"
#include "strategy/build_space.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

// Three switches and a knob.
std::vector<Technique> rows() {
  std::vector<Technique> all;
  for (const char* name : {"a", "b", "c"}) {
    Technique& row = all.emplace_back();
    row.name = row.summary = row.sentence = name;
  }
  Technique& tile = all.emplace_back();
  tile.name = tile.summary = tile.sentence = "tile";
  tile.parameters = {{"size", {16, 32, 64}, {}, 32}};
  return all;
}

Strategy of(const std::set<std::string>& names, std::int64_t size = 0) {
  Strategy strategy;
  for (const std::string& name : names) strategy.uses.push_back({name, {}, "", {}});
  if (size > 0) strategy.uses.push_back({"tile", {{"size", size}}, "", {}});
  return strategy;
}

Individual individual(Strategy strategy, double time_us,
                      const std::vector<Strategy>& parents = {}) {
  Individual one;
  for (const Strategy& parent : parents) strategy.parents.push_back(strategy_id(parent));
  one.strategy = std::move(strategy);
  one.time_us = time_us;
  one.verdict.zone = Zone::compute;
  one.verdict.floor_share = 0.5;
  return one;
}

Task toy_task() {
  Task task = landscape_task();
  task.family = "toy";
  task.precision = Precision::bf16;
  return task;
}

}  // namespace

TEST_CASE(
    "a run leaves its fastest kernels that differ in techniques, with what each technique did") {
  const Strategy bare = of({}, 16), with_a = of({"a"}, 16);
  const std::vector<Individual> fastest = {
      individual(of({"a", "b"}, 32), 4, {with_a}), individual(of({"a", "b"}, 64), 5),
      individual(with_a, 8, {bare}), individual(bare, 16), individual(of({"c"}, 16), 32)};
  DeviceSpec device;
  device.name = "h200";
  const auto lessons = lessons_of(toy_task(), device, Provenance::measured, 64, fastest, {"tag"});
  REQUIRE(lessons.size() == 3);
  CHECK(lessons[0].strategy.uses == fastest[0].strategy.uses);
  CHECK(lessons[1].strategy.uses == fastest[2].strategy.uses);
  CHECK(lessons[0].log2_gain == Approx(4));
  CHECK(lessons[0].zone == Zone::compute);
  CHECK(lessons[0].device == "h200");
  CHECK(lessons[0].origin == "measured");
  CHECK(lessons[0].tags == std::vector<std::string>{"tag"});
  double gain_a = 0, gain_b = 0;
  for (const auto& effect : lessons[0].effects) {
    if (effect.technique == "a") gain_a = effect.gain;
    if (effect.technique == "b") gain_b = effect.gain;
  }
  CHECK(gain_a == Approx(1));
  CHECK(gain_b == Approx(1));
}

TEST_CASE(
    "another run starts from what is feasible to it, of its type, and never from what it must not "
    "know") {
  auto space = build_space({rows(), {}});
  REQUIRE(space);
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  DeviceSpec device;
  device.name = "h200";
  const Task task = toy_task();
  const auto keep = [&](Strategy strategy, const std::string& of_task, Precision precision,
                        const std::string& tag) {
    PoolEntry entry;
    entry.strategy = std::move(strategy);
    entry.family = "toy";
    entry.precision = name_of(precision);
    entry.device = "h200";
    entry.effects = {{"a", 1.0, 2}};
    entry.task = of_task;
    entry.tags = {tag};
    REQUIRE(pool->add(entry));
  };
  keep(of({"a", "unknown here"}, 64), "other", Precision::bf16, "old");
  keep(of({"b"}), task_id(task), Precision::bf16, "old");
  keep(of({"c"}), "other", Precision::fp32_strict, "old");
  keep(of({"a", "c"}), "other", Precision::bf16, "mine");

  const auto techniques = [](const Recollection& all) {
    std::set<std::set<std::string>> sets;
    for (const Strategy& strategy : all.strategies) {
      std::set<std::string> names;
      for (const Use& use : strategy.uses) names.insert(use.technique);
      sets.insert(names);
    }
    return sets;
  };
  const auto free = remember(task, device, **space, Zone::compute, *pool, {});
  REQUIRE(free);
  for (const Strategy& strategy : free->strategies) CHECK((*space)->feasible(strategy));
  CHECK(techniques(*free) == std::set<std::set<std::string>>{{"a", "tile"}, {"b"}, {"a", "c"}});
  const auto guarded =
      remember(task, device, **space, Zone::compute, *pool, {task_id(task), {"mine"}});
  REQUIRE(guarded);
  CHECK(techniques(*guarded) == std::set<std::set<std::string>>{{"a", "tile"}});
  REQUIRE(guarded->effects.size() == 1);
  CHECK(guarded->effects[0].gain == Approx(1));
  CHECK(guarded->effects[0].count == 2);
}

TEST_CASE("entries of families whose templates serve the task count besides its own") {
  auto space = build_space({rows(), {}});
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(space);
  REQUIRE(pool);
  DeviceSpec device;
  device.name = "h200";
  const Task task = toy_task();
  for (const auto& [family, technique] :
       {std::pair("toy", "a"), std::pair("hooks", "b"), std::pair("strange", "c")}) {
    PoolEntry entry;
    entry.strategy = of({technique});
    entry.family = family;
    entry.precision = name_of(task.precision);
    entry.device = "h200";
    REQUIRE(pool->add(entry));
  }
  const auto found = [&](const std::vector<std::string>& related) {
    const auto all = remember(task, device, **space, Zone::compute, *pool, {}, related);
    REQUIRE(all);
    std::set<std::string> names;
    for (const Strategy& strategy : all->strategies) {
      for (const Use& use : strategy.uses) names.insert(use.technique);
    }
    return names;
  };
  CHECK(found({}) == std::set<std::string>{"a"});
  CHECK(found({"hooks", "toy"}) == std::set<std::string>{"a", "b"});
}

TEST_CASE("the nearest kernel that the pool holds is an example, short enough and not forbidden") {
  auto space = build_space({rows(), {}});
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(space);
  REQUIRE(pool);
  DeviceSpec device;
  device.name = "h200";
  const Task task = toy_task();
  const auto keep = [&](Strategy strategy, Precision precision, std::string kernel,
                        const std::string& of_task) {
    PoolEntry entry;
    entry.strategy = std::move(strategy);
    entry.family = "toy";
    entry.precision = name_of(precision);
    entry.device = "h200";
    entry.task = of_task;
    entry.text = "toy of " + of_task + ": 8 us";
    entry.kernel = std::move(kernel);
    entry.computes = "return 1;";
    REQUIRE(pool->add(entry));
  };
  const auto example = [&](const PoolGuard& guard) {
    const auto all = remember(task, device, **space, Zone::compute, *pool, guard);
    REQUIRE(all);
    return all->example;
  };
  keep(of({"a"}), Precision::bf16, "", "no kernel");
  CHECK(example({}).kernel.empty());
  keep(of({"a", "b"}), Precision::bf16, std::string(longest_example + 1, 'x'), "too long");
  keep(of({"b"}), Precision::fp32_strict, "of another type", "other");
  CHECK(example({}).kernel == "of another type");
  keep(of({"c"}), Precision::bf16, "near", "own");
  CHECK(example({}).kernel == "near");
  CHECK(example({}).computes == "return 1;");
  CHECK(example({}).about == "toy of own on h200");
  CHECK(example({"own", {}}).kernel == "of another type");
}

TEST_CASE("a family without a kernel in the pool is shown one with most of its operators") {
  auto pool = StrategyPool::open(":memory:");
  REQUIRE(pool);
  DeviceSpec device;
  device.name = "h200";
  Task task = toy_task();
  task.operations = {{"n", "rms_norm", {}, {}}, {"s", "silu", {}, {}}, {"g", "silu", {}, {}}};
  const auto keep = [&](const std::string& words, const std::string& kernel) {
    PoolEntry entry;
    entry.strategy = of({"a"});
    entry.family = "of " + kernel;
    entry.precision = name_of(task.precision);
    entry.device = "h200";
    entry.task = kernel;
    entry.text = words + ": 8 us, bound by silu";
    entry.kernel = kernel;
    REQUIRE(pool->add(entry));
  };
  const auto nearest = [&](const PoolGuard& guard = {}) {
    const auto found = nearest_example(task, device, *pool, guard);
    REQUIRE(found);
    return found->kernel;
  };
  CHECK(nearest().empty());
  keep("gemm product bf16 matmul", "stranger");
  keep("silus product bf16 silus", "other word");
  CHECK(nearest().empty());
  keep("maps map bf16 silu silu", "one");
  CHECK(nearest() == "one");
  keep("norms norm bf16 rms_norm silu", "both");
  keep("norms norm bf16 rms_norm silu x", std::string(longest_example + 1, 'x'));
  CHECK(nearest() == "both");
  CHECK(nearest({"both", {}}) == "one");
  task.operations.clear();
  CHECK(nearest().empty());
}

TEST_CASE("a journal's header keeps what the pool said") {
  HeaderRecord header;
  header.task_json = "{}";
  header.remembered = {of({"a"}, 16), of({"b"})};
  header.remembered_effects = {{"a", 0.25, 3}};
  header.pool = "/home/pool.sqlite";
  header.pool_tags = {"trial"};
  header.seats = SeatOptions{};
  header.seats->example = {"a kernel", "a reference", "words"};
  const auto read = header_from(to_json(header));
  REQUIRE(read);
  REQUIRE(read->remembered.size() == 2);
  CHECK(read->remembered[0].uses == header.remembered[0].uses);
  REQUIRE(read->remembered_effects.size() == 1);
  CHECK(read->remembered_effects[0].count == 3);
  CHECK(read->pool == header.pool);
  REQUIRE(read->seats);
  CHECK(read->seats->example.kernel == "a kernel");
  CHECK(read->seats->example.computes == "a reference");
  CHECK(read->seats->example.about == "words");
  CHECK(read->pool_tags == header.pool_tags);
}

namespace {

Task gemm(std::int64_t m, DType type = DType::bf16) {
  GemmSpec spec;
  spec.m = m;
  spec.n = spec.k = 4096;
  spec.dtype = type;
  return *gemm_task(spec);
}

Strategy tile(std::int64_t columns) {
  Strategy strategy;
  for (const char* name : {"wgmma_core", "tensor_map_copy", "persistent", "shared_swizzle"})
    strategy.uses.push_back({name});
  strategy.uses.push_back({"warp_specialisation", {{"consumers", 2}}});
  strategy.uses.push_back({"warpgroup_tile", {{"tile_m", 64}, {"tile_n", columns}}});
  strategy.uses.push_back({"multistage", {{"stages", 4}}});
  return strategy;
}

}  // namespace

TEST_CASE("times tell of their kind alone") {
  const DeviceSpec h200 = *chip("h200"), h100 = *chip("h100");
  const std::string kind = kind_of_times(gemm(4096), h200, Provenance::measured);
  CHECK(kind == kind_of_times(gemm(128), h200, Provenance::measured));
  CHECK(kind != kind_of_times(gemm(4096, DType::f16), h200, Provenance::measured));
  CHECK(kind != kind_of_times(gemm(4096), h100, Provenance::measured));
  CHECK(kind_of_times(gemm(4096), h200, Provenance::modelled)
            .empty());  // a forecast learns from no model's word
  Task two = gemm(4096);
  two.time_shapes.push_back(two.time_shapes.front());
  CHECK(kind_of_times(two, h200, Provenance::measured).empty());
}

TEST_CASE("a later run's forecasts know what an earlier one timed at another size") {
  const DeviceSpec device = *chip("h200");
  const Task earlier = gemm(2048), later = gemm(4096);
  const CostModel none = learnt_forecaster(earlier, device, builtin_tunables(), {});
  std::vector<Individual> all;
  for (const std::int64_t columns : {64, 96, 128, 160, 192, 224, 256}) {
    const auto expected = none(tile(columns));
    REQUIRE(expected);
    all.push_back(individual(tile(columns), 2 * std::exp2(expected->log2_us)));
  }
  all.push_back(individual(tile(48), 0));  // was never timed
  const auto outcomes = outcomes_of(earlier, all);
  REQUIRE(outcomes.size() == 7);
  CHECK(outcomes.front().sizes.at("m") == 2048);
  CHECK(strategy_id(outcomes.back().strategy) == strategy_id(tile(64)));  // as `all` began
  const auto before = learnt_forecaster(later, device, builtin_tunables(), {})(tile(208));
  const auto after = learnt_forecaster(later, device, builtin_tunables(), outcomes)(tile(208));
  REQUIRE(before);
  REQUIRE(after);
  CHECK(after->log2_us - before->log2_us == Approx(1).margin(0.3));
  CHECK(after->sigma < before->sigma);
}

TEST_CASE("a journal's header keeps what forecasts learnt from") {
  HeaderRecord header;
  header.task_json = "{}";
  CHECK(to_json(header).find("learnt") == std::string::npos);
  header.learnt = {{tile(128), {{"m", 2048}, {"n", 4096}}, 93.5}};
  const auto read = header_from(to_json(header));
  REQUIRE(read);
  REQUIRE(read->learnt.size() == 1);
  CHECK(strategy_id(read->learnt.front().strategy) == strategy_id(tile(128)));
  CHECK(read->learnt.front().sizes == header.learnt.front().sizes);
  CHECK(read->learnt.front().time_us == 93.5);
}
