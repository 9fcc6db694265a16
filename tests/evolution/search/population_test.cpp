// Who lives, and who is bred from.
#include "evolution/search/population.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "catch.hpp"
#include "strategy/build_space.hpp"

using namespace cupilot;

namespace {

std::string core_name(int i) { return "core_" + std::to_string(i); }

// So many cores, of which a strategy uses one, and a, b, c, d beside it.
std::unique_ptr<Space> space_of(int cores) {
  SpaceModel model;
  for (int i = 0; i < cores; ++i) {
    Technique core;
    core.name = core_name(i);
    core.group = "core";
    model.techniques.push_back(core);
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    Technique technique;
    technique.name = name;
    model.techniques.push_back(technique);
  }
  auto space = build_space(std::move(model));
  REQUIRE(space);
  return std::move(*space);
}

Member member(int core, const std::string& others, double us, std::uint64_t id) {
  Strategy strategy;
  strategy.uses.push_back({core_name(core), {}, "", {}});
  for (const char c : others) strategy.uses.push_back({std::string(1, c), {}, "", {}});
  return {{id, strategy, us, -std::log2(us), {}}, std::to_string(id)};
}

std::vector<std::uint64_t> ids(const Population& population) {
  std::vector<std::uint64_t> all;
  for (const Member& one : population.members()) all.push_back(one.individual.id);
  return all;
}

int count_of(const Population& population, int core) {
  return static_cast<int>(
      std::count_if(population.members().begin(), population.members().end(),
                    [&](const Member& one) { return one.core == core_name(core); }));
}

}  // namespace

TEST_CASE("of two that differ in little and are as fast the slower leaves") {
  struct Row {
    const char* what;
    Member first, second;
    std::vector<std::uint64_t> left;
  };
  const std::vector<Row> rows = {
      {"a change that changes nothing", member(0, "", 10, 1), member(0, "a", 10, 2), {1}},
      {"two of them", member(0, "", 10, 1), member(0, "ab", 10, 2), {1}},
      {"three", member(0, "", 10, 1), member(0, "abc", 10, 2), {1, 2}},
      {"one that helps a little", member(0, "", 10, 1), member(0, "a", 9.95, 2), {2}},
      {"one that harms a little", member(0, "", 10, 1), member(0, "a", 10.05, 2), {1}},
      {"one that helps", member(0, "", 10, 1), member(0, "a", 9.8, 2), {1, 2}},
      {"one that harms", member(0, "", 10, 1), member(0, "a", 10.2, 2), {1, 2}},
      {"another core and more", member(0, "", 10, 1), member(1, "a", 10, 2), {1, 2}}};
  const auto space = space_of(2);
  for (const Row& row : rows) {
    INFO(row.what);
    Population population(*space, {});
    population.add(row.first, Rng(1));
    population.add(row.second, Rng(2));
    CHECK(ids(population) == row.left);
  }
}

TEST_CASE("one that is as fast as two others takes the place of both") {
  const auto space = space_of(1);
  Population population(*space, {});
  population.add(member(0, "ab", 10, 1), Rng(1));
  population.add(member(0, "cd", 10.01, 2), Rng(2));
  REQUIRE(population.members().size() == 2);
  population.add(member(0, "", 9.99, 3), Rng(3));
  CHECK(ids(population) == std::vector<std::uint64_t>{3});
}

TEST_CASE("the few fastest of a core live on beside a faster one") {
  const auto space = space_of(2);
  Population population(*space, {8, 2, 3});
  for (std::uint64_t i = 1; i <= 5; ++i)
    population.add(member(1, "", 100 + 5.0 * static_cast<double>(i), i), Rng(i));
  for (std::uint64_t i = 6; i <= 60; ++i)
    population.add(member(0, "", 70 - static_cast<double>(i), i), Rng(i));
  CHECK(population.members().size() == 8);
  CHECK(count_of(population, 1) == 3);
  CHECK(population.members().front().individual.id == 1);  // the fastest of it
  CHECK(population.fittest() == Approx(-std::log2(10.0)));
  population.keep_fastest(2);
  CHECK(count_of(population, 0) == 3);
  CHECK(count_of(population, 1) == 3);
}

TEST_CASE("more cores than a population has room for leave it no larger") {
  const auto space = space_of(12);
  Population population(*space, {6, 2, 3});
  for (int i = 0; i < 12; ++i)
    population.add(member(i, "", 10 + i, static_cast<std::uint64_t>(i)), Rng(1));
  CHECK(population.members().size() == 6);
  CHECK(count_of(population, 0) == 1);
  CHECK(count_of(population, 1) == 1);
}

TEST_CASE("a core is bred by what its best can do") {
  const auto space = space_of(3);
  Population population(*space, {});
  CHECK(population.fittest() == -HUGE_VAL);
  CHECK(population.draw_core(Rng(1)).empty());
  population.add(member(0, "", 10, 1), Rng(1));
  CHECK(population.draw_core(Rng(1)).empty());
  population.add(member(0, "abc", 300, 2), Rng(1));
  population.add(member(1, "", 20, 3), Rng(1));
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 9000; ++seed) ++drawn[population.draw_core(Rng(seed))];
  CHECK(drawn.size() == 2);
  CHECK(drawn["core_1"] == Approx(1000).margin(120));  // an eighth as often
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    CHECK(population.select(Rng(seed), "core_1").individual.id == 3);
  Population again(*space, {});
  again.restore(population.members());
  CHECK(again.draw_core(Rng(7)) == population.draw_core(Rng(7)));
}

TEST_CASE("the effects of free techniques are counted by their text", "[evolution]") {
  const auto with = [](std::vector<std::string> ideas) {
    Strategy strategy;
    strategy.uses = {{"unroll", {}, "", {}}};
    for (std::string& idea : ideas) strategy.uses.push_back({"free", {}, std::move(idea), {}});
    return strategy;
  };
  EffectBook book;
  book.note(with({"early loads"}), 5, with({}), 10);
  book.note(with({"two rows"}), 20, with({}), 10);
  // One idea in place of another: each has half of the change.
  book.note(with({"early loads"}), 10, with({"two rows"}), 20);
  const auto effects = book.effects();
  REQUIRE(effects.size() == 2);
  CHECK(effects[0].technique == "free: early loads");
  CHECK(effects[0].gain == Approx(0.75));
  CHECK(effects[0].count == 2);
  CHECK(effects[1].technique == "free: two rows");
  CHECK(effects[1].gain == Approx(-0.75));
}
