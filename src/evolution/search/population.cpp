#include "evolution/search/population.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "strategy/edit.hpp"

namespace cupilot {
namespace {

// Twins: times within an octave's 64th (1.1 %) of each other, and at most two techniques or the
// whole ranges of two knobs apart.
constexpr double as_fast = 1.0 / 64, differ_in_little = 2;
constexpr int kept_of_core =
    3;  // whatever other cores do: what a core can do takes some steps to see
constexpr double core_sharpness = 3;

}  // namespace

bool faster(const Individual& a, const Individual& b) {
  return a.time_us != b.time_us ? a.time_us < b.time_us : a.id < b.id;
}

std::string Population::core_of(const Strategy& strategy) const {
  for (const Technique& technique : space_->techniques()) {
    if (technique.group == "core" && find_use(strategy, technique.name) != nullptr)
      return technique.name;
  }
  return "";
}

bool Population::is_elite(const Member& member, int of_core) const {
  int ahead = 0, ahead_of_core = 0;
  for (const Member& other : members_) {
    if (!faster(other.individual, member.individual)) continue;
    ++ahead;
    if (other.core == member.core) ++ahead_of_core;
  }
  return ahead < rules_.elites || ahead_of_core < of_core;
}

void Population::add(Member member, Rng rng) {
  member.core = core_of(member.individual.strategy);
  const auto is_twin = [&](const Member& other) {
    return std::abs(std::log2(other.individual.time_us / member.individual.time_us)) < as_fast &&
           distance(*space_, other.individual.strategy, member.individual.strategy) <=
               differ_in_little;
  };
  const auto outrun = [&](const Member& other) {
    return is_twin(other) && faster(other.individual, member.individual);
  };
  if (std::any_of(members_.begin(), members_.end(), outrun)) return;
  std::erase_if(members_, is_twin);
  members_.push_back(std::move(member));
  if (members_.size() <= static_cast<std::size_t>(std::max(rules_.capacity, rules_.elites + 1)))
    return;
  std::vector<std::size_t> mortal;
  for (int of_core = kept_of_core; mortal.empty(); --of_core) {  // fewer where there are many cores
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!is_elite(members_[i], of_core)) mortal.push_back(i);
    }
  }
  std::size_t loser =
      mortal[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(mortal.size())))];
  for (int round = 1; round < rules_.tournament; ++round) {
    const std::size_t other =
        mortal[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(mortal.size())))];
    if (members_[other].individual.fitness < members_[loser].individual.fitness) loser = other;
  }
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(loser));
}

void Population::keep_fastest(std::size_t count) {
  std::stable_sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
    return faster(a.individual, b.individual);
  });
  std::map<std::string, int> met;
  std::vector<Member> kept;
  for (Member& member : members_) {
    if (++met[member.core] <= kept_of_core || kept.size() < count)
      kept.push_back(std::move(member));
  }
  members_ = std::move(kept);
}

void Population::restore(std::vector<Member> members) {
  members_ = std::move(members);
  for (Member& member : members_) member.core = core_of(member.individual.strategy);
}

double Population::fittest() const {
  double best = -HUGE_VAL;
  for (const Member& member : members_) best = std::max(best, member.individual.fitness);
  return best;
}

std::string Population::draw_core(Rng rng) const {
  std::map<std::string, double> shares;  // share of each core; first the fitness of its best
  for (const Member& member : members_) {
    const auto [place, fresh] = shares.try_emplace(member.core, member.individual.fitness);
    place->second = std::max(place->second, member.individual.fitness);
  }
  if (shares.size() < 2) return "";
  const double best = fittest();
  double sum = 0;
  for (auto& [core, share] : shares) sum += share = std::exp2(core_sharpness * (share - best));
  double at = rng.unit() * sum;
  for (const auto& [core, share] : shares) {
    if ((at -= share) < 0) return core;
  }
  return shares.rbegin()->first;
}

const Member& Population::select(Rng rng, const std::string& core) const {
  std::vector<const Member*> eligible;
  for (const Member& member : members_) {
    if (core.empty() || member.core == core) eligible.push_back(&member);
  }
  const auto draw = [&] {
    return eligible[static_cast<std::size_t>(
        rng.below(static_cast<std::int64_t>(eligible.size())))];
  };
  const Member* winner = draw();
  for (int round = 1; round < rules_.tournament; ++round) {
    const Member* other = draw();
    if (other->individual.fitness > winner->individual.fitness) winner = other;
  }
  return *winner;
}

namespace {

// Free techniques have one name: each text is an idea of its own.
std::string idea_of(const Use& use) {
  return use.text.empty() ? use.technique : use.technique + ": " + use.text;
}

}  // namespace

void EffectBook::note(const Strategy& child, double child_us, const Strategy& parent,
                      double parent_us) {
  std::set<std::string> before, after;
  for (const Use& use : parent.uses) before.insert(idea_of(use));
  for (const Use& use : child.uses) after.insert(idea_of(use));
  std::vector<std::string> added, removed;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(added));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(removed));
  const std::size_t changes = added.size() + removed.size();
  if (changes == 0) return;
  // The cause is not known: each change gets an equal part.
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
