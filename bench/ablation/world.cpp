#include "world.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <cupilot/family.hpp>
#include <cupilot/parts/tunable.hpp>

#include "evolution/search/knowledge.hpp"
#include "unpriced.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t teacher_seed = 1000;  // no race has it
constexpr std::int64_t teacher_evaluations = 100;
constexpr std::size_t fewest_taught = 200;  // strategies: of fewer nothing is learnt

double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace

Result<World> open_world(Table table) {
  const std::vector<Tunable> templates = templates_of(builtin_families(), table.task);
  auto whole = make_space(table.task, table.device, unpriced(templates));
  if (!whole) return whole.error();
  World world{std::move(table), std::move(*whole), nullptr, Zone::middle, {}};
  world.zone = zone_of(world.table.task, world.table.task.time_shapes.front(), world.table.device);
  world.knowledge.forecast = make_cost_model(world.table.task, world.table.device, templates);
  return world;
}

World rest_of(const World& world, const Table& other) {
  return {world.table.without(other), world.whole, nullptr, world.zone, world.knowledge};
}

Race race(const World& world, const Arm& arm, const SearchOptions& options, double goal_us) {
  SearchOptions own = options;
  own.steering = arm.steering;
  own.policy = arm.policy;
  const auto strategist = rule_strategist();
  const Zone zone = arm.verdicts ? world.zone : Zone::middle;
  Search search(own, *world.space, *strategist, zone, world.table.plain_us, world.knowledge);
  Race race;
  const double begin = thread_ms();
  for (std::int64_t count = 1;; ++count) {
    auto asked = search.ask(1);
    const auto* proposals = asked ? std::get_if<std::vector<Proposal>>(&*asked) : nullptr;
    if (proposals == nullptr) break;
    const TableRow* row = world.table.find(proposals->front().strategy);
    if (row == nullptr) {
      std::fprintf(stderr, "%s: %s was proposed and is not recorded\n", world.table.name.c_str(),
                   strategy_id(proposals->front().strategy).c_str());
      std::exit(2);
    }
    if (row->time_us > 0 && row->time_us <= goal_us) {
      race.evaluations = count;
      break;
    }
    Score score = world.table.score(*row);
    if (!arm.verdicts) score.verdict = {};
    search.tell(proposals->front().id, score);
  }
  race.cpu_ms =
      (thread_ms() - begin) / static_cast<double>(std::max<std::int64_t>(1, search.proposed()));
  race.accepted = search.fastest(static_cast<int>(search.proposed()));
  return race;
}

Result<Lessons> lessons_for(const World& pupil, const std::vector<World>& all) {
  Lessons lessons;
  for (const World& other : all) {
    if (other.table.name == pupil.table.name) continue;
    World teacher = rest_of(other, pupil.table);
    const std::size_t left = teacher.table.rows.size();
    lessons.teachers.emplace_back(other.table.name, left >= fewest_taught ? left : 0);
    if (left < fewest_taught) continue;
    teacher.space = table_space(teacher.table, teacher.whole);
    SearchOptions options;
    options.seed = teacher_seed;
    options.max_evaluations = teacher_evaluations;
    const Race done = race(teacher, {"teacher", {.pool = false}}, options, 0);
    for (PoolEntry& entry :
         lessons_of(teacher.table.task, teacher.table.device, Provenance::measured,
                    teacher.table.plain_us, done.accepted, {"ablation"})) {
      if (pupil.table.find(entry.strategy) != nullptr)
        return Error{ErrorCode::failure,
                     "a lesson for " + pupil.table.name + " is one of its own strategies",
                     "mend the guard"};
      lessons.entries.push_back(std::move(entry));
    }
  }
  return lessons;
}

Result<void> learn(World& pupil, const Lessons& lessons) {
  auto pool = StrategyPool::open(":memory:");
  if (!pool) return pool.error();
  for (const PoolEntry& entry : lessons.entries) {
    if (auto added = pool->add(entry); !added) return added;
  }
  auto remembered = remember(pupil.table.task, pupil.table.device, *pupil.space, pupil.zone, *pool,
                             {task_id(pupil.table.task), {}});
  if (!remembered) return remembered.error();
  pupil.knowledge.remembered = std::move(remembered->strategies);
  pupil.knowledge.effects = std::move(remembered->effects);
  return {};
}

}  // namespace cupilot
