#include <set>

#include <cupilot/parts/space.hpp>

#include "strategy/genome.hpp"

namespace cupilot {
namespace {

struct Collector {
  const GenomeSpace& space;
  const Strategy& of;
  std::set<std::string> seen;
  std::vector<Strategy> found;

  bool add(const Genome& genome) {
    if (!space.legal(genome)) return false;
    // Completing puts techniques into the space's order and spells every value out.
    const std::optional<Genome> done = space.completed(genome, {});
    if (!done) return true;
    Strategy strategy = spelled(space.alphabet(), *done, of);
    if (seen.insert(strategy_id(strategy)).second) found.push_back(std::move(strategy));
    return true;
  }
};

// The first legal value on each side.
void step_knob(Collector& collector, const Genome& genome, int knob) {
  const Alphabet& alphabet = collector.space.alphabet();
  const std::vector<std::int64_t>& domain = alphabet.knobs[static_cast<std::size_t>(knob)].domain;
  const int at = position_in(alphabet, knob, genome);
  for (const int direction : {1, -1}) {
    for (int to = at + direction; to >= 0 && to < static_cast<int>(domain.size());
         to += direction) {
      Genome next = genome;
      next.values[static_cast<std::size_t>(knob)] = domain[static_cast<std::size_t>(to)];
      if (collector.add(next)) break;
    }
  }
}

}  // namespace

std::vector<Strategy> neighbours(const Space& space, const Strategy& strategy) {
  const std::shared_ptr<const GenomeSpace> genomes = genomes_of(space);
  const Alphabet& alphabet = genomes->alphabet();
  const Genome genome = alphabet.read(strategy);
  Collector collector{*genomes, strategy, {strategy_id(strategy)}, {}};
  for (std::size_t k = 0; k < alphabet.knobs.size(); ++k) {
    if (holds(genome, alphabet.index(alphabet.knobs[k].technique)))
      step_knob(collector, genome, static_cast<int>(k));
  }
  for (const int technique : alphabet.offered) {
    const bool held = holds(genome, technique);
    Genome wish = genome;
    if (held) {
      remove(alphabet, technique, wish);
    } else {
      put_in_front(alphabet, technique, wish);
    }
    const std::optional<Genome> done = genomes->completed(wish, {{technique}, {}});
    if (done && holds(*done, technique) != held) collector.add(*done);
  }
  return std::move(collector.found);
}

}  // namespace cupilot
