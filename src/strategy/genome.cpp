#include "strategy/genome.hpp"

#include <algorithm>
#include <map>

#include "strategy/edit.hpp"
#include "strategy/skeleton_plan.hpp"

namespace cupilot {
namespace {

// A space that is only asked in text.
class SpelledSpace final : public GenomeSpace {
 public:
  explicit SpelledSpace(const Space& space)
      : space_(space), alphabet_(space.techniques(), space.techniques(), space.knobs()) {}

  const std::vector<Technique>& techniques() const override { return space_.techniques(); }
  const std::vector<Knob>& knobs() const override { return space_.knobs(); }
  bool feasible(const Strategy& strategy) const override { return space_.feasible(strategy); }
  using Space::complete;
  Result<Completion> complete(const Strategy& wish,
                              const std::vector<std::string>& pinned) const override {
    return space_.complete(wish, pinned);
  }
  double size() const override { return space_.size(); }

  const Alphabet& alphabet() const override { return alphabet_; }
  std::optional<Genome> completed(const Genome& wish, const Pins& pinned) const override {
    std::vector<std::string> names;
    for (const int t : pinned.techniques)
      names.push_back(alphabet_.names[static_cast<std::size_t>(t)]);
    for (const int k : pinned.knobs) {
      const Knob& knob = alphabet_.knobs[static_cast<std::size_t>(k)];
      names.push_back(knob.technique + '.' + knob.parameter);
    }
    const Result<Completion> done = space_.complete(alphabet_.spell(wish), names);
    return done ? std::optional(alphabet_.read(done->strategy)) : std::nullopt;
  }
  bool legal(const Genome& genome) const override {
    return !genome.more && space_.feasible(alphabet_.spell(genome));
  }

 private:
  const Space& space_;
  Alphabet alphabet_;
};

}  // namespace

Alphabet::Alphabet(const std::vector<Technique>& all, const std::vector<Technique>& offers,
                   const std::vector<Knob>& of_space)
    : knobs(of_space), knobs_of(all.size()), rivals(all.size(), std::vector<char>(all.size(), 0)) {
  for (const Technique& technique : all) names.push_back(technique.name);
  for (std::size_t t = 0; t < names.size(); ++t) index_.emplace(names[t], static_cast<int>(t));
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b)
      rivals[a][b] = cupilot::rivals(all[a], all[b]) ? 1 : 0;
  }
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (const int t = index(knobs[k].technique); t >= 0)
      knobs_of[static_cast<std::size_t>(t)].push_back(static_cast<int>(k));
  }
  std::map<std::string, std::vector<int>> by_name;
  for (const Technique& technique : offers) {
    const int t = index(technique.name);
    offered.push_back(t);
    (technique.group.empty() ? free : by_name[technique.group]).push_back(t);
  }
  for (auto& [name, members] : by_name) groups.push_back(std::move(members));
}

int Alphabet::index(std::string_view technique) const {
  const auto found = index_.find(technique);
  return found == index_.end() ? Genome::unknown : found->second;
}

Genome Alphabet::read(const Strategy& strategy) const {
  Genome genome{{}, std::vector<std::int64_t>(knobs.size(), Genome::unset), false};
  for (const Use& use : strategy.uses) {
    const int t = index(use.technique);
    genome.more = genome.more || !use.text.empty() || !use.on.empty();
    genome.uses.push_back(t);
    if (t < 0) continue;
    std::size_t named = 0;
    for (const int k : knobs_of[static_cast<std::size_t>(t)]) {
      const auto found = use.values.find(knobs[static_cast<std::size_t>(k)].parameter);
      const bool stated = found != use.values.end();
      genome.values[static_cast<std::size_t>(k)] = stated ? found->second : Genome::unset;
      named += stated ? 1 : 0;
    }
    genome.more = genome.more || named != use.values.size();
  }
  return genome;
}

Strategy Alphabet::spell(const Genome& genome) const {
  Strategy strategy;
  strategy.uses.reserve(genome.uses.size());
  for (const int t : genome.uses) {
    if (t < 0) continue;
    Use& use = strategy.uses.emplace_back();
    use.technique = names[static_cast<std::size_t>(t)];
    for (const int k : knobs_of[static_cast<std::size_t>(t)]) {
      const std::int64_t value = genome.values[static_cast<std::size_t>(k)];
      if (value != Genome::unset)
        use.values.emplace(knobs[static_cast<std::size_t>(k)].parameter, value);
    }
  }
  return strategy;
}

Strategy spelled(const Alphabet& alphabet, const Genome& genome, const Strategy& told_of) {
  Strategy strategy = alphabet.spell(genome);
  strategy.rationale = told_of.rationale;
  strategy.parents = told_of.parents;
  strategy.origin = told_of.origin;
  return strategy;
}

bool holds(const Genome& genome, int technique) {
  return std::find(genome.uses.begin(), genome.uses.end(), technique) != genome.uses.end();
}

void remove(const Alphabet& alphabet, int technique, Genome& genome) {
  std::erase(genome.uses, technique);
  for (const int k : alphabet.knobs_of[static_cast<std::size_t>(technique)]) {
    genome.values[static_cast<std::size_t>(k)] = Genome::unset;
  }
}

void put_in_front(const Alphabet& alphabet, int technique, Genome& genome) {
  const std::vector<char>& rivals = alphabet.rivals[static_cast<std::size_t>(technique)];
  for (const int other : std::vector<int>(genome.uses)) {
    if (other >= 0 && (other == technique || rivals[static_cast<std::size_t>(other)]))
      remove(alphabet, other, genome);
  }
  genome.uses.insert(genome.uses.begin(), technique);
}

int position_in(const Alphabet& alphabet, int knob, const Genome& genome) {
  const Knob& row = alphabet.knobs[static_cast<std::size_t>(knob)];
  const std::int64_t value = genome.values[static_cast<std::size_t>(knob)];
  return nearest(row.domain, value == Genome::unset ? row.fallback : value);
}

bool differ(const Alphabet& alphabet, const Genome& a, const Genome& b) {
  const auto lacks = [](const Genome& genome) {
    return [&genome](int t) { return t < 0 || !holds(genome, t); };
  };
  if (std::any_of(a.uses.begin(), a.uses.end(), lacks(b)) ||
      std::any_of(b.uses.begin(), b.uses.end(), lacks(a)))
    return true;
  for (const int t : a.uses) {
    for (const int k : alphabet.knobs_of[static_cast<std::size_t>(t)]) {
      if (alphabet.knobs[static_cast<std::size_t>(k)].domain.size() < 2) continue;
      if (position_in(alphabet, k, a) != position_in(alphabet, k, b)) return true;
    }
  }
  return false;
}

std::shared_ptr<const GenomeSpace> genomes_of(const Space& space) {
  if (const auto* numbers = dynamic_cast<const GenomeSpace*>(&space))
    return {std::shared_ptr<const void>(), numbers};
  return std::make_shared<SpelledSpace>(space);
}

}  // namespace cupilot
