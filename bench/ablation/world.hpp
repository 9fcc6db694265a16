// A recorded landscape as searches meet it, and how many evaluations one of them takes.
#pragma once

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/pool.hpp>

#include "ablation/table.hpp"

namespace cupilot {

struct World {
  Table table;
  std::shared_ptr<const Space> whole;  // of the templates, of which the table holds a part
  std::unique_ptr<Space> space;
  Zone zone = Zone::middle;
  Knowledge knowledge;
};
Result<World> open_world(Table table);
// The same task without the strategies of `other`.
World rest_of(const World& world, const Table& other);

struct Arm {
  const char* name;
  SearchFeatures steering;
  bool verdicts = true;  // false: the strategist gets neither verdicts nor the zone; forecasts stay
  SearchPolicy policy = SearchPolicy::evolution;
};

struct Race {
  std::int64_t evaluations = 0;        // until the goal; 0: not reached
  std::vector<Individual> accepted{};  // fastest first
  double cpu_ms = 0;                   // of the thread, a proposal
};
// One proposal at a time, as evolve() runs a search but for the budget; ends at the goal. goal_us
// 0: none.
Race race(const World& world, const Arm& arm, const SearchOptions& options, double goal_us);

// What one search of each other landscape left in a pool. Those searches knew no strategy of this
// landscape: what the pool brings is like its best ones, never one of them.
struct Lessons {
  std::vector<PoolEntry> entries{};
  std::vector<std::pair<std::string, std::size_t>>
      teachers{};  // landscapes, with how many strategies were left of each
};
Result<Lessons> lessons_for(const World& pupil, const std::vector<World>& all);
// Into the pupil's knowledge.
Result<void> learn(World& pupil, const Lessons& lessons);

}  // namespace cupilot
