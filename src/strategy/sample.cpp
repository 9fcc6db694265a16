#include <cupilot/parts/space.hpp>

#include "strategy/genome.hpp"

namespace cupilot {
namespace {

// Draws of parameters before an illegal one is projected. Projection crowds the border of the legal
// region.
constexpr int parameter_draws = 4;

std::size_t drawn(std::size_t count, Rng& rng) {
  return static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(count)));
}

Genome sampled_techniques(const Alphabet& alphabet, Rng& rng) {
  Genome wish{{}, std::vector<std::int64_t>(alphabet.knobs.size(), Genome::unset), false};
  // One density for the whole strategy: sparse and rich ones are equally likely.
  const double density = rng.unit();
  for (const std::vector<int>& members : alphabet.groups) {
    const int member = members[drawn(members.size(), rng)];
    if (member != Genome::unknown) wish.uses.push_back(member);
  }
  // A random order, so that of two rivals neither is always first.
  std::vector<int> others;
  for (const int technique : alphabet.free) {
    if (rng.chance(density)) others.push_back(technique);
  }
  for (std::size_t i = others.size(); i > 1; --i) std::swap(others[i - 1], others[drawn(i, rng)]);
  wish.uses.insert(wish.uses.end(), others.begin(), others.end());
  return wish;
}

void draw_parameters(const Alphabet& alphabet, Genome& genome, Rng& rng) {
  for (std::size_t k = 0; k < alphabet.knobs.size(); ++k) {
    const std::vector<std::int64_t>& domain = alphabet.knobs[k].domain;
    if (genome.values[k] != Genome::unset) genome.values[k] = domain[drawn(domain.size(), rng)];
  }
}

}  // namespace

Genome sample(const GenomeSpace& space, Rng rng) {
  const Alphabet& alphabet = space.alphabet();
  // The first completion adds what every strategy of the skeleton holds, so that its parameters are
  // drawn too.
  const std::optional<Genome> techniques = space.completed(sampled_techniques(alphabet, rng), {});
  if (!techniques) return alphabet.read({});
  Genome genome = *techniques;
  for (int draw = 0; draw < parameter_draws; ++draw) {
    draw_parameters(alphabet, genome, rng);
    if (space.legal(genome)) return genome;
  }
  return space.completed(genome, {}).value_or(*techniques);
}

Strategy sample(const Space& space, Rng rng) {
  const std::shared_ptr<const GenomeSpace> genomes = genomes_of(space);
  return genomes->alphabet().spell(sample(*genomes, rng));
}

}  // namespace cupilot
