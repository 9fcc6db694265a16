// The search on a user's kernel whose every setting was timed before:
// examples/stencil/exhaustive.csv.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/search.hpp>

#include "catch.hpp"

namespace cupilot {
namespace {

const std::string folder = std::string(CUPILOT_SOURCE_DIR) + "/examples/stencil/";

struct Table {
  std::map<std::map<std::string, std::int64_t>, double> times;  // microseconds by values
  double best_us = 1e30;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

Table read_table() {
  Table table;
  std::ifstream file(folder + "exhaustive.csv");
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cells_of(line);
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    std::map<std::string, std::int64_t> values;
    std::size_t i = 0;
    for (; names[i] != "time_us"; ++i) values[names[i]] = std::stoll(cells[i]);
    table.best_us = std::min(table.best_us, table.times[values] = std::stod(cells[i]));
  }
  return table;
}

std::unique_ptr<Space> stencil_space() {
  const auto task = load_task(folder + "stencil.json");
  const auto tunable = load_tunable(folder + "stencil_tunable.cu");
  const auto device = chip("h200");
  REQUIRE(task);
  REQUIRE(tunable);
  REQUIRE(device);
  auto space = make_space(*task, *device, {*tunable});
  INFO((space ? "" : space.error().message));
  REQUIRE(space);
  return std::move(*space);
}

// Evaluations until within 3 % of the best; one more than the budget where the search never came so
// near.
std::int64_t evaluations_to_near(const Space& space, const Table& table, std::uint64_t seed,
                                 std::int64_t budget) {
  SearchOptions options;
  options.seed = seed;
  options.max_evaluations = budget;
  const auto strategist = rule_strategist();
  Search search(options, space, *strategist, Zone::memory, 4 * table.best_us);
  for (std::int64_t count = 1; count <= budget; ++count) {
    auto asked = search.ask(1);
    REQUIRE(asked);
    const auto* proposals = std::get_if<std::vector<Proposal>>(&*asked);
    if (proposals == nullptr) break;
    Score score;
    score.accepted = score.evaluated = true;
    score.time_us = table.times.at(proposals->front().strategy.uses.front().values);
    if (score.time_us <= 1.03 * table.best_us) return count;
    search.tell(proposals->front().id, score);
  }
  return budget + 1;
}

TEST_CASE("the table of the stencil holds every feasible setting") {
  const Table table = read_table();
  const auto space = stencil_space();
  REQUIRE(table.times.size() >= 1000);
  bool all_feasible = true;
  for (const auto& [values, us] : table.times) {
    Strategy strategy;
    strategy.uses.push_back({"stencil7_planes", values, "", {}});
    all_feasible = all_feasible && space->feasible(strategy) && us > 0;
  }
  CHECK(all_feasible);
  double points = 1;
  for (const Knob& knob : space->knobs()) points *= static_cast<double>(knob.domain.size());
  CHECK(points > static_cast<double>(table.times.size()));  // restrictions took some
}

TEST_CASE("a tenth of the exhaustive evaluations comes within 3 % of the optimum") {
  const Table table = read_table();
  const auto space = stencil_space();
  const auto budget = static_cast<std::int64_t>(table.times.size() / 10);
  std::vector<std::int64_t> counts;
  for (std::uint64_t seed = 1; seed <= 25; ++seed)
    counts.push_back(evaluations_to_near(*space, table, seed, budget));
  std::sort(counts.begin(), counts.end());
  INFO("least " << counts.front() << ", most " << counts.back());
  CHECK(counts[counts.size() / 2] <= budget);
}

}  // namespace
}  // namespace cupilot
