// What a search remembers of accepted kernels: who lives, who is fastest, what each technique did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cupilot/agents.hpp>
#include <cupilot/rng.hpp>

namespace cupilot {

struct Member {
  Individual individual;
  std::string strategy_id;
};

struct PopulationRules {
  int capacity = 24, elites = 4, tournament = 3;
};

class Population {
 public:
  explicit Population(PopulationRules rules) : rules_(rules) {}

  // Adds one; when there are too many, the loser of a tournament among those who are not elites leaves.
  void add(Member member, Rng rng);
  // Keeps the `count` fastest: what the next epoch grows from.
  void keep_fastest(std::size_t count);
  // Winner of a tournament on fitness. Not to be called when empty.
  const Member& select(Rng rng) const;
  const std::vector<Member>& members() const { return members_; }
  void restore(std::vector<Member> members) { members_ = std::move(members); }

 private:
  bool is_elite(const Member& member) const;
  PopulationRules rules_;
  std::vector<Member> members_;  // in order of arrival
};

// Mean log2 speed change seen when a technique was added to a parent (or, with the sign turned, taken away).
class EffectBook {
 public:
  void note(const Strategy& child, double child_us, const Strategy& parent, double parent_us);
  std::vector<StrategyBrief::Effect> effects() const;

  using Sums = std::map<std::string, std::pair<double, int>>;  // of gains, and how many, by technique
  const Sums& sums() const { return sums_; }
  void restore(Sums sums) { sums_ = std::move(sums); }

 private:
  Sums sums_;
};

// Before in time, then in id.
bool faster(const Individual& a, const Individual& b);

}  // namespace cupilot
