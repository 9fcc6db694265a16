// What each part of the steering is worth: evaluations until a search is within 5 % of the best of
// a recorded landscape, with all parts and without some of them.
//
//   ablation [--only ARM] SEEDS FIRST_SEED OUT.json COUNTS_DIR FOLDER…
//   COUNTS_DIR/counts-NAME.jsonl: the virtual device's counts; ARM: no-pool, say; default: all
//
// A search meets the recorded strategies alone. Each landscape has a thread of its own.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "ablation/world.hpp"

namespace {

using namespace cupilot;

constexpr std::int64_t cap = 300;  // a race that takes longer counts as one more
constexpr double within = 1 / 0.95;

const Arm arms[] = {{"full", {}},
                    {"no-roofline", {.roofline = false}},
                    {"no-verdict", {}, false},
                    {"no-model", {.model = false}},
                    {"no-crossover", {.crossover = false}},
                    {"no-surrogate", {.surrogate = false}},
                    {"no-pool", {.pool = false}},
                    {"no-pool, no-roofline", {.roofline = false, .pool = false}},
                    {"no-pool, no-verdict", {.pool = false}, false},
                    {"no-pool, no-model", {.pool = false, .model = false}},
                    {"no-pool, no-crossover", {.pool = false, .crossover = false}},
                    {"no-pool, no-surrogate", {.pool = false, .surrogate = false}},
                    {"random policy", {}, true, SearchPolicy::random}};

struct Seeds {
  int count = 0;
  std::uint64_t first = 1;
};

std::int64_t random_race(const Table& table, double goal_us, std::uint64_t seed) {
  std::vector<double> times;
  for (const TableRow& row : table.rows) times.push_back(row.time_us);
  Rng rng = Rng::of(seed, "random");
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::swap(times[i], times[i + static_cast<std::size_t>(
                                      rng.below(static_cast<std::int64_t>(times.size() - i)))]);
    if (times[i] > 0 && times[i] <= goal_us) return static_cast<std::int64_t>(i) + 1;
  }
  return static_cast<std::int64_t>(times.size());
}

nlohmann::json summary_of(std::vector<std::int64_t> counts) {
  double sum = 0;
  for (const std::int64_t count : counts) sum += static_cast<double>(count);
  nlohmann::json json = {{"evaluations", counts},
                         {"mean", sum / static_cast<double>(counts.size())}};
  std::sort(counts.begin(), counts.end());
  json["median"] = counts[counts.size() / 2];
  return json;
}

nlohmann::json raced(const World& world, const Arm& arm, const Seeds& seeds, double goal_us) {
  std::vector<std::int64_t> counts;
  double cpu_ms = 0;
  for (int i = 0; i < seeds.count; ++i) {
    SearchOptions options;
    options.seed = seeds.first + static_cast<std::uint64_t>(i);
    options.max_evaluations = cap;
    options.tune_share = 0;
    const Race done = race(world, arm, options, goal_us);
    counts.push_back(done.evaluations > 0 ? done.evaluations : cap + 1);
    cpu_ms += done.cpu_ms / seeds.count;
  }
  nlohmann::json json = summary_of(counts);
  json["cpu_ms_per_proposal"] = cpu_ms;
  return json;
}

void show(const std::string& landscape, const std::string& arm, const nlohmann::json& summary) {
  std::printf("%-22s %-24s median %5.0f  mean %6.1f  cpu %.2f ms\n", landscape.c_str(), arm.c_str(),
              summary["median"].get<double>(), summary["mean"].get<double>(),
              summary.value("cpu_ms_per_proposal", 0.0));
  std::fflush(stdout);
}

nlohmann::json results_of(const World& world, const Seeds& seeds, const Lessons& lessons,
                          const std::string& only) {
  const double goal_us = world.table.best_us * within;
  const std::size_t near = world.table.near(within), size = world.table.rows.size();
  nlohmann::json json = {
      {"landscape", world.table.name},
      {"strategies", size},
      {"counted", world.table.counted()},
      {"best_us", world.table.best_us},
      {"within_5_percent", near},
      {"random_expected", static_cast<double>(size + 1) / static_cast<double>(near + 1)},
      {"remembered", world.knowledge.remembered.size()}};
  for (const auto& [name, left] : lessons.teachers) json["taught_by"][name] = left;
  std::vector<std::int64_t> random;
  for (int i = 0; i < seeds.count; ++i)
    random.push_back(
        random_race(world.table, goal_us, seeds.first + static_cast<std::uint64_t>(i)));
  json["arms"]["random"] = summary_of(random);
  show(world.table.name, "random", json["arms"]["random"]);
  for (const Arm& arm : arms) {
    if (!only.empty() && arm.name != only) continue;
    json["arms"][arm.name] = raced(world, arm, seeds, goal_us);
    show(world.table.name, arm.name, json["arms"][arm.name]);
  }
  return json;
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

Result<std::vector<World>> open_all(std::span<char*> folders, const std::string& counts_folder) {
  std::vector<World> worlds;
  for (const char* folder : folders) {
    auto table = read_table(folder, counts_folder);
    if (!table) return table.error();
    auto world = open_world(std::move(*table));
    if (!world) return world.error();
    worlds.push_back(std::move(*world));
  }
  for (World& world : worlds) world.space = table_space(world.table, world.whole);
  return worlds;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  if (argc > 2 && std::string(argv[1]) == "--only") {
    only = argv[2];
    argv += 2, argc -= 2;
    if (std::none_of(std::begin(arms), std::end(arms),
                     [&](const Arm& arm) { return arm.name == only; })) {
      std::fprintf(stderr, "ablation: no arm is called '%s'\n", only.c_str());
      return 2;
    }
  }
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: ablation [--only ARM] SEEDS FIRST_SEED OUT.json COUNTS_DIR FOLDER...\n");
    return 2;
  }
  const Seeds seeds{std::atoi(argv[1]), static_cast<std::uint64_t>(std::atoll(argv[2]))};
  auto worlds = open_all(std::span(argv + 5, argv + argc), argv[4]);
  if (!worlds) return fail(worlds.error());
  std::vector<Lessons> lessons;
  for (World& world : *worlds) {
    auto learnt = lessons_for(world, *worlds);
    if (!learnt) return fail(learnt.error());
    lessons.push_back(std::move(*learnt));
    if (auto taken = learn(world, lessons.back()); !taken) return fail(taken.error());
  }
  nlohmann::json out = {{"goal", "95 percent of the best recorded"},
                        {"cap", cap},
                        {"seeds", seeds.count},
                        {"first_seed", seeds.first}};
  out["landscapes"] = nlohmann::json::array();
  std::mutex writing;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < worlds->size(); ++i) {
    threads.emplace_back([&, i] {
      nlohmann::json results = results_of((*worlds)[i], seeds, lessons[i], only);
      const std::lock_guard lock(writing);
      out["landscapes"].push_back(std::move(results));
      std::ofstream(argv[3]) << out.dump(1) << "\n";
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
