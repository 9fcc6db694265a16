#include <algorithm>

#include "strategy/genome.hpp"

#include "catch.hpp"
#include "strategy/toy_space.hpp"

using namespace cupilot;

namespace {

// Says what another says, in text alone.
class TellStatus final : public Space {
 public:
  explicit TellStatus(const Space& space) : space_(space) {}
  const std::vector<Technique>& techniques() const override { return space_.techniques(); }
  const std::vector<Knob>& knobs() const override { return space_.knobs(); }
  Result<Completion> complete(const Strategy& wish,
                              const std::vector<std::string>& pinned) const override {
    return space_.complete(wish, pinned);
  }
  bool feasible(const Strategy& strategy) const override { return space_.feasible(strategy); }
  double size() const override { return space_.size(); }

 private:
  const Space& space_;
};

std::string text(const Strategy& strategy) { return strategy_to_json(strategy); }
std::vector<std::string> texts(const std::vector<Strategy>& all) {
  std::vector<std::string> written;
  for (const Strategy& strategy : all) written.push_back(text(strategy));
  return written;
}

Strategy wish_of(std::vector<Use> uses) {
  Strategy wish;
  wish.uses = std::move(uses);
  wish.rationale = "as told";
  wish.parents = {"one"};
  return wish;
}

}  // namespace

TEST_CASE("a space is bred in alike by numbers and by text", "[genome]") {
  const auto space = toy_space();
  REQUIRE(space);
  const TellStatus told(*space);
  Strategy parent = sample(*space, Rng(7));
  parent.rationale = "because";
  for (std::uint64_t i = 0; i < 60; ++i) {
    const Strategy drawn = sample(*space, Rng(i));
    CHECK(text(drawn) == text(sample(told, Rng(i))));
    const Strategy child = mutate(*space, parent, 1 + static_cast<int>(i % 3), {}, Rng(i));
    CHECK(text(child) == text(mutate(told, parent, 1 + static_cast<int>(i % 3), {}, Rng(i))));
    CHECK(child.rationale == "because");
    CHECK(distance(*space, child, parent) > 0);
    if (i % 10 == 0) CHECK(texts(neighbours(*space, drawn)) == texts(neighbours(told, drawn)));
    parent = i % 4 == 0 ? drawn : child;
    parent.rationale = "because";
  }
}

TEST_CASE("a genome is a strategy of its space, and says when there is more to it", "[genome]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto genomes = genomes_of(*space);
  const Alphabet& alphabet = genomes->alphabet();
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Strategy strategy = sample(*space, Rng(i));
    const Genome genome = alphabet.read(strategy);
    CHECK(text(alphabet.spell(genome)) == text(strategy));
    CHECK_FALSE(genome.more);
    CHECK(genomes->legal(genome));
    CHECK(genomes->completed(genome, {}) == genome);
  }
  const Strategy good = sample(*space, Rng(3));
  struct Bad {
    const char* what;
    std::function<void(Strategy&)> spoil;
    bool more;
  };
  const std::vector<Bad> bad = {
      {"free text", [](Strategy& s) { s.uses.front().text = "in prose"; }, true},
      {"operations", [](Strategy& s) { s.uses.front().on = {"gemm"}; }, true},
      {"a parameter that is no knob", [](Strategy& s) { s.uses.front().values["depth"] = 2; },
       true},
      {"an unknown technique",
       [](Strategy& s) {
         s.uses.push_back({"a thing of its own", {}, "", {}});
       },
       false},
      {"a technique twice", [](Strategy& s) { s.uses.push_back(s.uses.front()); }, false},
      {"a value outside of its domain",
       [](Strategy& s) {
         for (Use& use : s.uses) {
           if (use.technique == "block_tile") use.values["block_m"] = 48;
         }
       },
       false}};
  for (const Bad& one : bad) {
    INFO(one.what);
    Strategy strategy = good;
    one.spoil(strategy);
    const Genome genome = alphabet.read(strategy);
    CHECK(genome.more == one.more);
    CHECK_FALSE(genomes->legal(genome));
    CHECK_FALSE(space->feasible(strategy));
    const auto done = space->complete(strategy);
    REQUIRE(done);
    CHECK(space->feasible(done->strategy));
    CHECK(alphabet.spell(*genomes->completed(genome, {})).uses == done->strategy.uses);
  }
}

TEST_CASE("a value that a genome leaves out is its technique's default", "[genome]") {
  const auto space = toy_space();
  REQUIRE(space);
  int left_out = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Strategy whole = sample(*space, Rng(i));
    Strategy less = whole;
    for (Use& use : less.uses) {
      for (const TechniqueParameter& parameter : find_technique(use.technique)->parameters) {
        const auto found = use.values.find(parameter.name);
        if (found == use.values.end() || found->second != parameter.fallback) continue;
        use.values.erase(found);
        ++left_out;
      }
    }
    CHECK(space->feasible(less));
    CHECK(text(space->complete(less)->strategy) == text(whole));
  }
  CHECK(left_out > 100);
}

TEST_CASE("what is pinned stays alike in numbers and in text", "[genome]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto genomes = genomes_of(*space);
  const TellStatus told(*space);
  const auto in_text = genomes_of(told);
  const Alphabet& alphabet = genomes->alphabet();
  int moved = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    Genome wish = sample(*genomes, Rng(i));
    Rng rng(1000 + i);
    Pins pins, pins_in_text;
    for (const int t : wish.uses) {
      if (!rng.chance(0.3)) continue;
      pins.techniques.push_back(t);
      const auto& names = in_text->alphabet().names;
      const auto at =
          std::find(names.begin(), names.end(), alphabet.names[static_cast<std::size_t>(t)]);
      pins_in_text.techniques.push_back(static_cast<int>(at - names.begin()));
    }
    for (std::size_t k = 0; k < wish.values.size(); ++k) {
      if (wish.values[k] == Genome::unset) continue;
      const std::vector<std::int64_t>& domain = alphabet.knobs[k].domain;
      wish.values[k] =
          domain[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(domain.size())))];
      if (rng.chance(0.5)) pins.knobs.push_back(static_cast<int>(k));
    }
    pins_in_text.knobs = pins.knobs;
    const Genome pinned = *genomes->completed(wish, pins);
    CHECK(text(alphabet.spell(pinned)) ==
          text(in_text->alphabet().spell(
              *in_text->completed(in_text->alphabet().read(alphabet.spell(wish)), pins_in_text))));
    moved += pinned != *genomes->completed(wish, {}) ? 1 : 0;
  }
  CHECK(moved > 10);
}

TEST_CASE("completing keeps prose and names what it drops in the order of the wish", "[genome]") {
  const auto space = toy_space();
  REQUIRE(space);
  const auto done = space->complete(wish_of({{"a thing of its own", {}, "", {}},
                                             {"mma_core", {}, "", {}},
                                             {"simt_core", {}, "", {}},
                                             {"another thing", {}, "", {}}}));
  REQUIRE(done);
  CHECK(done->strategy.rationale == "as told");
  CHECK(done->strategy.parents == std::vector<std::string>{"one"});
  REQUIRE(done->dropped.size() >= 3);
  CHECK(done->dropped[0] == "a thing of its own: nothing here realises it");
  CHECK(done->dropped[1] == "mma_core: mma_core is not offered by simt_core");
  CHECK(done->dropped[2] == "another thing: nothing here realises it");
}
