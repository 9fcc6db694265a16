// Strategies of one space as numbers: breeding changes and completes them by the hundred for each
// one that is proposed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <cupilot/parts/space.hpp>

namespace cupilot {

struct Genome {
  static constexpr std::int64_t unset = std::numeric_limits<std::int64_t>::min();
  static constexpr int unknown = -1;
  std::vector<int>
      uses;  // techniques in the order in which they stand; unknown: the space offers no such
  std::vector<std::int64_t> values;  // by knob; unset: left out, or its technique is not in use
  bool more =
      false;  // the text says what this cannot: free text, operations, parameters that are no knobs
  bool operator==(const Genome&) const = default;
};

// Gives the numbers their meaning.
struct Alphabet {
  Alphabet() = default;
  // `offered`: the space's techniques, some or all of `all`.
  Alphabet(const std::vector<Technique>& all, const std::vector<Technique>& offered,
           const std::vector<Knob>& knobs);

  std::vector<std::string> names{};          // technique names
  std::vector<int> offered{};                // the space's techniques, in its order
  std::vector<Knob> knobs{};                 // the space's
  std::vector<std::vector<int>> knobs_of{};  // by technique, in the space's order
  // Offered alternatives, by their group's name; unknown: a skeleton does with none of them.
  std::vector<std::vector<int>> groups{};
  std::vector<int> free{};  // offered techniques of no group
  std::vector<std::vector<char>>
      rivals{};  // two techniques that may not stand together by their rows

  int index(std::string_view technique) const;  // Genome::unknown where it is none
  Genome read(const Strategy& strategy) const;
  Strategy spell(const Genome& genome) const;  // without prose

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int, Hash, std::equal_to<>> index_{};
};

// With the prose and the descent of another strategy.
Strategy spelled(const Alphabet& alphabet, const Genome& genome, const Strategy& told_of);

bool holds(const Genome& genome, int technique);
// Without the technique. What needed it goes when the wish is completed.
void remove(const Alphabet& alphabet, int technique, Genome& genome);
// With the technique in front and without everything its row excludes or that is an alternative of
// it.
void put_in_front(const Alphabet& alphabet, int technique, Genome& genome);
// Position in the knob's domain of the value in use (nearest where it is none of the domain).
int position_in(const Alphabet& alphabet, int knob, const Genome& genome);
// True if `distance` tells them apart.
bool differ(const Alphabet& alphabet, const Genome& a, const Genome& b);

struct Pins {
  std::vector<int> techniques, knobs;
};

// Does on numbers what a Space does on text.
class GenomeSpace : public Space {
 public:
  virtual const Alphabet& alphabet() const = 0;
  // nullopt: an error.
  virtual std::optional<Genome> completed(const Genome& wish, const Pins& pinned) const = 0;
  virtual bool legal(const Genome& genome) const = 0;
};

// The space itself where it is one of those; else one that asks it in text, for as long as it
// lives.
std::shared_ptr<const GenomeSpace> genomes_of(const Space& space);

Genome sample(const GenomeSpace& space, Rng rng);

}  // namespace cupilot
