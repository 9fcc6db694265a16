// What each part of the steering is worth: evaluations until a search is within 5 % of the best of a recorded landscape, with
// all parts and without each of them.
// usage: ablation SEEDS OUTPUT.json FOLDER...
// A search meets the recorded strategies alone. Its pool holds what one search of each other landscape left behind.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include <cupilot/forecast.hpp>
#include <cupilot/pool.hpp>
#include <cupilot/tunable.hpp>

#include "ablation/table.hpp"
#include "evolution/knowledge.hpp"

namespace {

using namespace cupilot;

constexpr std::int64_t cap = 300;  // a race that takes longer counts as one more
constexpr double within = 1 / 0.95;
constexpr std::uint64_t teacher_seed = 1000;  // of the searches whose lessons the pool holds; no race has it
constexpr std::int64_t teacher_evaluations = 100;

struct Arm {
  const char* name;
  Steering steering;
};

const Arm arms[] = {{"full", {}},
                    {"no-roofline", {.roofline = false}},
                    {"no-pool", {.pool = false}},
                    {"no-crossover", {.crossover = false}},
                    {"no-surrogate", {.surrogate = false}},
                    {"no-model", {.model = false}},
                    {"no-pool, no-roofline", {.roofline = false, .pool = false}}};

struct World {
  Table table;
  std::unique_ptr<Space> space;
  Zone zone = Zone::middle;
  Knowledge knowledge;
};

const TableRow* row_of(const World& world, const Strategy& strategy) {
  const std::string id = strategy_id(strategy);
  for (const TableRow& row : world.table.rows) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

// One proposal at a time, as `evolve` runs it but for the budget. Evaluations until `goal_us`; 0: not reached.
std::int64_t race(const World& world, const SearchOptions& options, double goal_us, std::vector<Individual>* all) {
  const auto strategist = rule_strategist();
  Search search(options, *world.space, *strategist, world.zone, world.table.plain_us, world.knowledge);
  for (std::int64_t count = 1;; ++count) {
    auto asked = search.ask(1);
    const auto* proposals = asked ? std::get_if<std::vector<Proposal>>(&*asked) : nullptr;
    if (proposals == nullptr) break;
    const TableRow* row = row_of(world, proposals->front().strategy);
    if (row == nullptr) return 0;
    if (row->time_us > 0 && row->time_us <= goal_us) return count;
    search.tell(proposals->front().id, world.table.score(*row));
  }
  if (all != nullptr) *all = search.fastest(static_cast<int>(search.proposed()));
  return 0;
}

// What a search without a pool leaves for others.
Result<std::vector<PoolEntry>> lessons(const World& world) {
  SearchOptions options;
  options.seed = teacher_seed;
  options.max_evaluations = teacher_evaluations;
  options.steering.pool = false;
  std::vector<Individual> all;
  race(world, options, 0, &all);
  return lessons_of(world.table.task, world.table.device, Provenance::measured, world.table.plain_us, all, {"ablation"});
}

std::int64_t random_race(const Table& table, double goal_us, std::uint64_t seed) {
  std::vector<double> times;
  for (const TableRow& row : table.rows) times.push_back(row.time_us);
  Rng rng = Rng::of(seed, "random");
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::swap(times[i], times[i + static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(times.size() - i)))]);
    if (times[i] > 0 && times[i] <= goal_us) return static_cast<std::int64_t>(i) + 1;
  }
  return static_cast<std::int64_t>(times.size());
}

double median(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end());
  return static_cast<double>(counts[counts.size() / 2]);
}

double mean(const std::vector<std::int64_t>& counts) {
  double sum = 0;
  for (const std::int64_t count : counts) sum += static_cast<double>(count);
  return sum / static_cast<double>(counts.size());
}

Result<World> open_world(const std::string& folder) {
  auto table = read_table(folder);
  if (!table) return table.error();
  auto whole = make_space(table->task, table->device, builtin_tunables());
  if (!whole) return whole.error();
  World world{std::move(*table), nullptr, Zone::middle, {}};
  world.zone = zone_of(world.table.task, world.table.task.time_shapes.front(), world.table.device);
  world.space = std::move(*whole);
  world.knowledge.forecast = make_forecaster(world.table.task, world.table.device, builtin_tunables());
  return world;
}

nlohmann::json results_of(const World& world, int seeds) {
  const double goal_us = world.table.best_us * within;
  const auto near = static_cast<double>(world.table.near(within)), size = static_cast<double>(world.table.rows.size());
  nlohmann::json json = {{"landscape", world.table.name},
                         {"strategies", world.table.rows.size()},
                         {"best_us", world.table.best_us},
                         {"within_5_percent", near},
                         {"random_expected", (size + 1) / (near + 1)},
                         {"remembered", world.knowledge.remembered.size()}};
  std::vector<std::int64_t> random;
  for (int seed = 1; seed <= seeds; ++seed) random.push_back(random_race(world.table, goal_us, static_cast<std::uint64_t>(seed)));
  json["arms"]["random"] = {{"median", median(random)}, {"mean", mean(random)}, {"evaluations", random}};
  std::printf("%-24s %4zu strategies, %2.0f near; random %5.0f (mean %5.1f)\n", world.table.name.c_str(), world.table.rows.size(),
              near, median(random), mean(random));
  for (const Arm& arm : arms) {
    std::vector<std::int64_t> counts;
    for (int seed = 1; seed <= seeds; ++seed) {
      SearchOptions options;
      options.seed = static_cast<std::uint64_t>(seed);
      options.max_evaluations = cap;
      options.tune_share = 0;
      options.steering = arm.steering;
      const std::int64_t count = race(world, options, goal_us, nullptr);
      counts.push_back(count > 0 ? count : cap + 1);
    }
    json["arms"][arm.name] = {{"median", median(counts)}, {"mean", mean(counts)}, {"evaluations", counts}};
    std::printf("  %-32s median %5.0f  mean %6.1f\n", arm.name, median(counts), mean(counts));
    std::fflush(stdout);
  }
  return json;
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: ablation SEEDS OUTPUT.json FOLDER...\n");
    return 2;
  }
  std::vector<World> worlds;
  for (const char* folder : std::span(argv + 3, argv + argc)) {
    auto world = open_world(folder);
    if (!world) return fail(world.error());
    worlds.push_back(std::move(*world));
  }
  auto pool = StrategyPool::open(":memory:");
  if (!pool) return fail(pool.error());
  for (World& world : worlds) {
    world.space = table_space(world.table, std::move(world.space));
    const auto left = lessons(world);
    if (!left) return fail(left.error());
    for (const PoolEntry& entry : *left) {
      if (auto added = pool->add(entry); !added) return fail(added.error());
    }
  }
  nlohmann::json out = {{"goal", "95 percent of the best recorded"}, {"cap", cap}, {"seeds", std::atoi(argv[1])}};
  for (World& world : worlds) {
    auto remembered =
        remember(world.table.task, world.table.device, *world.space, world.zone, *pool, {task_id(world.table.task), {}});
    if (!remembered) return fail(remembered.error());
    world.knowledge.remembered = std::move(remembered->strategies);
    world.knowledge.effects = std::move(remembered->effects);
    out["landscapes"].push_back(results_of(world, std::atoi(argv[1])));
    std::ofstream(argv[2]) << out.dump(1) << "\n";
  }
  return 0;
}
