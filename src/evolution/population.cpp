#include "evolution/population.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace cupilot {

bool faster(const Individual& a, const Individual& b) { return a.time_us != b.time_us ? a.time_us < b.time_us : a.id < b.id; }

bool Population::is_elite(const Member& member) const {
  const auto ahead = std::count_if(members_.begin(), members_.end(),
                                   [&](const Member& other) { return faster(other.individual, member.individual); });
  return ahead < rules_.elites;
}

void Population::add(Member member, Rng rng) {
  members_.push_back(std::move(member));
  if (members_.size() <= static_cast<std::size_t>(std::max(rules_.capacity, rules_.elites + 1))) return;
  std::vector<std::size_t> mortal;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!is_elite(members_[i])) mortal.push_back(i);
  }
  std::size_t loser = mortal[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(mortal.size())))];
  for (int round = 1; round < rules_.tournament; ++round) {
    const std::size_t other = mortal[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(mortal.size())))];
    if (members_[other].individual.fitness < members_[loser].individual.fitness) loser = other;
  }
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(loser));
}

void Population::keep_fastest(std::size_t count) {
  std::stable_sort(members_.begin(), members_.end(),
                   [](const Member& a, const Member& b) { return faster(a.individual, b.individual); });
  if (members_.size() > count) members_.resize(count);
}

const Member& Population::select(Rng rng) const {
  const auto count = static_cast<std::int64_t>(members_.size());
  const Member* winner = &members_[static_cast<std::size_t>(rng.below(count))];
  for (int round = 1; round < rules_.tournament; ++round) {
    const Member& other = members_[static_cast<std::size_t>(rng.below(count))];
    if (other.individual.fitness > winner->individual.fitness) winner = &other;
  }
  return *winner;
}

void EffectBook::note(const Strategy& child, double child_us, const Strategy& parent, double parent_us) {
  std::set<std::string> before, after;
  for (const Use& use : parent.uses) before.insert(use.technique);
  for (const Use& use : child.uses) after.insert(use.technique);
  std::vector<std::string> added, removed;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(added));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(removed));
  const std::size_t changes = added.size() + removed.size();
  if (changes == 0) return;
  // Who did it is not known: each change gets an equal part.
  const double part = std::log2(parent_us / child_us) / static_cast<double>(changes);
  for (const std::string& name : added) {
    sums_[name].first += part;
    ++sums_[name].second;
  }
  for (const std::string& name : removed) {
    sums_[name].first -= part;
    ++sums_[name].second;
  }
}

std::vector<StrategyBrief::Effect> EffectBook::effects() const {
  std::vector<StrategyBrief::Effect> all;
  for (const auto& [name, sum] : sums_) all.push_back({name, sum.first / sum.second, sum.second});
  return all;
}

}  // namespace cupilot
