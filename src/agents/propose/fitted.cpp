// Fits a strategy to sizes that it was not found at.
#include <algorithm>
#include <cmath>
#include <set>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/rng.hpp>

namespace cupilot {
namespace {

constexpr std::size_t kept_a_round = 6;  // strategies whose neighbours are looked at next
constexpr int rounds_without_gain = 2;   // after which the climb ends
constexpr int most_rounds = 16;
// Changes of the strategy that the climb begins with beside it: single steps lead over no ridge.
constexpr std::uint64_t drawn = 96;
constexpr int most_steps = 6;
constexpr double least_gain = 0.07;  // log2: 5 %, below which models tell nothing apart
// The part of a gain that is not believed, as far as it was expected where the strategy was found.
constexpr double disproved = 0.5;
// Two that are worth trying both: by `distance`, and in log2 of the times that are expected.
constexpr double apart = 0.5, told_apart = 0.02;

// Techniques that say which template serves: alternatives of the group "core".
std::set<std::string> cores_of(const Space& space, const Strategy& strategy) {
  std::set<std::string> cores;
  for (const Technique& technique : space.techniques()) {
    const bool used = std::any_of(strategy.uses.begin(), strategy.uses.end(),
                                  [&](const Use& use) { return use.technique == technique.name; });
    if (technique.group == "core" && used) cores.insert(technique.name);
  }
  return cores;
}

struct Placed {
  Strategy strategy;
  double log2_us = 0;
};

class Climb {
 public:
  Climb(const Space& space, const Strategy& found, const CostModel& here, const CostModel& there)
      : space_(space), found_(found), here_(here), there_(there) {
    if (there_) found_there_ = there_(found);
  }

  // Nothing where no time is expected of it.
  std::optional<double> expected(const Strategy& strategy) const {
    const auto here = here_(strategy);
    if (!here) return std::nullopt;
    double log2_us = here->log2_us;
    if (!found_there_) return log2_us;
    if (const auto there = there_(strategy))
      log2_us += disproved * std::max(0.0, found_there_->log2_us - there->log2_us);
    return log2_us;
  }

  // Climbs from a strategy; returns what gains, the fastest first.
  std::vector<Placed> run(const Strategy& start, double start_log2_us) {
    cores_ = cores_of(space_, start);
    met_ = {strategy_id(start)};
    Placed best{start, start_log2_us};
    std::vector<Placed> round = begins(best);
    for (int i = 0, idle = 0; i < most_rounds && idle <= rounds_without_gain; ++i) {
      if (i > 0) round = next(round);
      if (round.empty()) break;
      const bool gains = round.front().log2_us < best.log2_us;
      if (gains) best = round.front();
      idle = gains ? 0 : idle + 1;
    }
    std::erase_if(seen_,
                  [&](const Placed& one) { return one.log2_us >= start_log2_us - least_gain; });
    sort(seen_);
    return std::move(seen_);
  }

 private:
  // The strategy itself, and the fastest of what is drawn near it and of what lies beside it as it
  // was found: where sizes forbid that, another number may have to move than the nearest one.
  std::vector<Placed> begins(const Placed& start) {
    std::vector<Placed> all = {start};
    for (Strategy& strategy : neighbours(space_, found_)) place(std::move(strategy), all);
    for (std::uint64_t i = 0; i < drawn; ++i) {
      const int steps = 1 + static_cast<int>(i) % most_steps;
      place(mutate(space_, start.strategy, steps, {}, Rng::of(0, "fitted", i)), all);
    }
    return fastest(std::move(all));
  }

  // The fastest neighbours that were not met before, of all strategies of a round.
  std::vector<Placed> next(const std::vector<Placed>& round) {
    std::vector<Placed> all;
    for (const Placed& one : round) {
      for (Strategy& strategy : neighbours(space_, one.strategy)) place(std::move(strategy), all);
    }
    return fastest(std::move(all));
  }

  // Adds what is new, of the same core, and expected to take a time.
  void place(Strategy strategy, std::vector<Placed>& all) {
    if (!met_.insert(strategy_id(strategy)).second || cores_of(space_, strategy) != cores_) return;
    const auto log2_us = expected(strategy);
    if (!log2_us) return;
    all.push_back({std::move(strategy), *log2_us});
    seen_.push_back(all.back());
  }

  static void sort(std::vector<Placed>& all) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Placed& a, const Placed& b) { return a.log2_us < b.log2_us; });
  }

  static std::vector<Placed> fastest(std::vector<Placed> all) {
    sort(all);
    if (all.size() > kept_a_round) all.resize(kept_a_round);
    return all;
  }

  const Space& space_;
  const Strategy& found_;
  const CostModel& here_;
  const CostModel& there_;
  std::optional<Prediction> found_there_;
  std::set<std::string> cores_, met_;
  std::vector<Placed> seen_;  // all that a time is expected of
};

}  // namespace

Result<std::vector<Strategy>> fitted(const Space& space, const Strategy& found,
                                     const CostModel& here, const CostModel& there,
                                     std::size_t most) {
  auto start = space.complete(found);
  if (!start) return std::move(start.error());
  std::vector<Placed> gains;
  if (here) {
    Climb climb(space, found, here, there);
    const auto expected = climb.expected(start->strategy);
    if (expected) gains = climb.run(start->strategy, *expected);
  }
  std::vector<Placed> taken;
  for (Placed& one : gains) {
    const bool near = std::any_of(taken.begin(), taken.end(), [&](const Placed& other) {
      return one.log2_us - other.log2_us < told_apart ||
             distance(space, one.strategy, other.strategy) < apart;
    });
    if (taken.size() < most && !near) taken.push_back(std::move(one));
  }
  std::vector<Strategy> all;
  for (Placed& one : taken) all.push_back(std::move(one.strategy));
  all.push_back(std::move(start->strategy));
  return all;
}

}  // namespace cupilot
