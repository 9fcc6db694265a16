// A search's memory of accepted kernels: who lives, who is fastest, what each technique did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/rng.hpp>

namespace cupilot {

struct Member {
  Individual individual;
  std::string strategy_id;
  std::string core{};  // core_of its strategy; the population fills it in
};

struct PopulationRules {
  int capacity = 24, elites = 4, tournament = 3;
};

class Population {
 public:
  Population(const Space& space, PopulationRules rules) : space_(&space), rules_(rules) {}

  // Adds one. Of two that differ in little and are as fast the slower leaves (crowding; De Jong
  // 1975): on plateaus, where much changes nothing, copies of the best would fill the population.
  // When there are too many, the loser of a tournament among those who are not elites leaves.
  void add(Member member, Rng rng);
  // Keeps the `count` fastest, and the few fastest of each core: what the next epoch grows from.
  void keep_fastest(std::size_t count);
  // Which core a slot breeds: one whose best is slower by an octave an eighth as often as the
  // fastest's. "": any.
  std::string draw_core(Rng rng) const;
  // Winner of a tournament on fitness, among those of the core ("": of any). Not to be called when
  // there are none.
  const Member& select(Rng rng, const std::string& core) const;
  double fittest() const;  // fitness; -infinity: it is empty
  const std::vector<Member>& members() const { return members_; }
  void restore(std::vector<Member> members);
  // The technique of group "core" that a strategy uses; "": none.
  std::string core_of(const Strategy& strategy) const;

 private:
  // Among the fastest, or the `of_core` fastest of its core.
  bool is_elite(const Member& member, int of_core) const;
  const Space* space_;
  PopulationRules rules_;
  std::vector<Member> members_;  // in order of arrival
};

// Mean log2 speed change seen when a technique was added to a parent (or, with the sign turned,
// taken away).
class EffectBook {
 public:
  void note(const Strategy& child, double child_us, const Strategy& parent, double parent_us);
  std::vector<StrategyBrief::Effect> effects() const;

  // Sum of gains and their number, by technique; "free: TEXT" of a free one.
  using Sums = std::map<std::string, std::pair<double, int>>;
  const Sums& sums() const { return sums_; }
  void restore(Sums sums) { sums_ = std::move(sums); }

 private:
  Sums sums_;
};

// Before in time, then in id.
bool faster(const Individual& a, const Individual& b);

}  // namespace cupilot
