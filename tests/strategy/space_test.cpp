#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <cupilot/parts/space.hpp>

#include "catch.hpp"
#include "strategy/toy_space.hpp"

using namespace cupilot;

namespace {

bool has(const Strategy& strategy, const std::string& technique) {
  return std::any_of(strategy.uses.begin(), strategy.uses.end(),
                     [&](const Use& use) { return use.technique == technique; });
}

std::int64_t value(const Strategy& strategy, const std::string& technique,
                   const std::string& parameter) {
  for (const Use& use : strategy.uses) {
    if (use.technique == technique) return use.values.at(parameter);
  }
  return -1;
}

Strategy wish_of(std::vector<Use> uses) {
  Strategy wish;
  wish.uses = std::move(uses);
  return wish;
}

// Checked against the restrictions themselves, not through the space.
bool legal_by_hand(const Strategy& s) {
  const auto get = [&](const char* t, const char* p, std::int64_t absent) {
    return has(s, t) ? value(s, t, p) : absent;
  };
  if (has(s, "simt_core") == has(s, "mma_core")) return false;
  const std::int64_t m = get("block_tile", "block_m", 0), n = get("block_tile", "block_n", 0),
                     k = get("k_slab", "block_k", 0);
  const bool simt = has(s, "simt_core");
  const std::int64_t tm = simt ? get("thread_tile", "thread_m", 4) : get("warp_tile", "warp_m", 32);
  const std::int64_t tn = simt ? get("thread_tile", "thread_n", 4) : get("warp_tile", "warp_n", 32);
  const std::int64_t threads = m * n / (tm * tn) * (simt ? 1 : 32);
  if (threads < 32 || threads > 1024 || threads % 32 != 0) return false;
  if (get("multistage", "stages", 1) * (m + n + 2 * get("shared_padding", "pad", 0)) * k * 4 >
      232448)
    return false;
  if (k % get("vector_load", "vector", 1) != 0) return false;
  if (has(s, "shared_padding") && has(s, "shared_swizzle")) return false;
  if (has(s, "register_prefetch") && has(s, "async_copy")) return false;
  return !has(s, "ldmatrix") || !simt;
}

std::vector<Strategy> samples(const Space& space, int count, std::uint64_t seed) {
  std::vector<Strategy> drawn;
  for (int i = 0; i < count; ++i)
    drawn.push_back(sample(space, Rng::of(seed, "test sample", static_cast<std::uint64_t>(i))));
  return drawn;
}

}  // namespace

TEST_CASE("complete fixes the skeleton, closes over needs, projects and says why", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  struct Case {
    const char* what;
    std::vector<Use> wish;
    std::vector<std::string> present, absent;
    std::string says;  // in a dropped line; empty: nothing dropped
  };
  const Case table[] = {
      {"nothing wished", {}, {"simt_core", "block_tile", "k_slab"}, {"mma_core"}, ""},
      {"a closure chooses the skeleton",
       {{"ldmatrix", {}, "", {}}},
       {"mma_core", "ldmatrix"},
       {"simt_core"},
       ""},
      {"the core named in the wish wins over a technique of another",
       {{"simt_core", {}, "", {}}, {"ldmatrix", {}, "", {}}},
       {"simt_core"},
       {"ldmatrix"},
       "ldmatrix"},
      {"of two that exclude one another the first stays",
       {{"mma_core", {}, "", {}}, {"register_prefetch", {}, "", {}}, {"async_copy", {}, "", {}}},
       {"register_prefetch"},
       {"async_copy"},
       "async_copy cannot stand beside register_prefetch"},
      {"unknown techniques are dropped with a reason",
       {{"telepathy", {}, "", {}}},
       {},
       {"telepathy"},
       "telepathy: nothing here realises it"},
      {"a technique no skeleton offers",
       {{"stream_k", {}, "", {}}},
       {},
       {"stream_k"},
       "stream_k is not offered by simt_core"},
      {"too many threads are projected",
       {{"simt_core", {}, "", {}},
        {"block_tile", {{"block_m", 256}, {"block_n", 256}}, "", {}},
        {"thread_tile", {{"thread_m", 4}, {"thread_n", 4}}, "", {}}},
       {"thread_tile"},
       {},
       "threads<=1024"},
      {"too much shared memory is projected",
       {{"mma_core", {}, "", {}},
        {"block_tile", {{"block_m", 256}, {"block_n", 256}}, "", {}},
        {"warp_tile", {}, "", {}},
        {"k_slab", {{"block_k", 64}}, "", {}},
        {"multistage", {{"stages", 5}}, "", {}}},
       {"multistage"},
       {},
       "shared<=232448"},
  };
  for (const Case& c : table) {
    INFO(c.what);
    const auto done = space->complete(wish_of(c.wish));
    REQUIRE(done);
    CHECK(space->feasible(done->strategy));
    CHECK(legal_by_hand(done->strategy));
    for (const std::string& name : c.present) CHECK(has(done->strategy, name));
    for (const std::string& name : c.absent) CHECK_FALSE(has(done->strategy, name));
    std::string dropped;
    for (const std::string& line : done->dropped) dropped += line + '\n';
    INFO(dropped);
    CHECK(dropped.empty() == c.says.empty());
    CHECK(dropped.find(c.says) != std::string::npos);
  }
}

TEST_CASE("complete finds the nearest legal values, found by exhaustion", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  const std::vector<std::int64_t> tile = {16, 32, 64, 128, 256}, thread = {1, 2, 4, 8, 16};
  const auto steps = [](const std::vector<std::int64_t>& domain, std::int64_t a, std::int64_t b) {
    return std::abs((std::find(domain.begin(), domain.end(), a) - domain.begin()) -
                    (std::find(domain.begin(), domain.end(), b) - domain.begin()));
  };
  Rng rng = Rng::of(5, "nearest");
  const auto any = [&](const std::vector<std::int64_t>& domain) {
    return domain[static_cast<std::size_t>(rng.below(5))];
  };
  for (int i = 0; i < 60; ++i) {
    const std::int64_t m = any(tile), n = any(tile), tm = any(thread), tn = any(thread);
    const auto make = [](std::int64_t bm, std::int64_t bn, std::int64_t a, std::int64_t b) {
      return wish_of({{"simt_core", {}, "", {}},
                      {"block_tile", {{"block_m", bm}, {"block_n", bn}}, "", {}},
                      {"k_slab", {{"block_k", 8}}, "", {}},
                      {"thread_tile", {{"thread_m", a}, {"thread_n", b}}, "", {}}});
    };
    std::ptrdiff_t least = 1000;
    for (const auto a : tile)
      for (const auto b : tile)
        for (const auto c : thread)
          for (const auto d : thread)
            if (space->feasible(make(a, b, c, d)))
              least = std::min(least, steps(tile, a, m) + steps(tile, b, n) + steps(thread, c, tm) +
                                          steps(thread, d, tn));
    const auto done = space->complete(make(m, n, tm, tn));
    REQUIRE(done);
    INFO(m << ' ' << n << ' ' << tm << ' ' << tn << " -> " << describe(done->strategy));
    // Taking thread_tile away costs four steps.
    const bool kept = has(done->strategy, "thread_tile");
    REQUIRE((kept || least >= 4));
    if (!kept) continue;
    // The search is guided: at most one step is given away for its speed.
    const auto got = steps(tile, value(done->strategy, "block_tile", "block_m"), m) +
                     steps(tile, value(done->strategy, "block_tile", "block_n"), n) +
                     steps(thread, value(done->strategy, "thread_tile", "thread_m"), tm) +
                     steps(thread, value(done->strategy, "thread_tile", "thread_n"), tn);
    CHECK(got <= least + 1);
  }
}

TEST_CASE("a pinned parameter stays and others move", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  const Strategy wish = wish_of({{"simt_core", {}, "", {}},
                                 {"block_tile", {{"block_m", 256}, {"block_n", 256}}, "", {}},
                                 {"thread_tile", {{"thread_m", 1}, {"thread_n", 4}}, "", {}}});
  for (const char* pin : {"block_tile.block_m", "block_tile.block_n", "thread_tile.thread_m",
                          "thread_tile.thread_n"}) {
    const auto done = space->complete(wish, {pin});
    REQUIRE(done);
    const std::string name = pin;
    const std::string technique = name.substr(0, name.find('.')),
                      parameter = name.substr(name.find('.') + 1);
    INFO(pin << ": " << describe(done->strategy));
    REQUIRE(has(done->strategy, technique));
    CHECK(value(done->strategy, technique, parameter) == value(wish, technique, parameter));
    CHECK(legal_by_hand(done->strategy));
  }
}

TEST_CASE("a pinned technique neither goes nor comes where parameters can move instead",
          "[space]") {
  // Five steps of a parameter, or one technique that goes (or comes): unpinned, the technique is
  // nearer.
  for (const bool wished : {true, false}) {
    Skeleton skeleton{"one",
                      {"simt_core", "k_slab"},
                      {"vector_epilogue"},
                      {{"k_slab", "block_k", {4, 8, 16, 32, 64, 128}, 16}},
                      {}};
    skeleton.restrictions.push_back(
        {"small slabs", {"vector_epilogue", "k_slab.block_k"}, [wished](const Assignment& a) {
           return (a.present[toy_technique("vector_epilogue")] != 0) != wished || a.values[0] <= 4;
         }});
    const auto space = build_space({{catalogue().begin(), catalogue().end()}, {skeleton}});
    REQUIRE(space);
    Strategy wish = wish_of({{"simt_core", {}, "", {}}, {"k_slab", {{"block_k", 128}}, "", {}}});
    if (wished) wish.uses.push_back({"vector_epilogue", {}, "", {}});
    for (const bool pinned : {false, true}) {
      const auto done = (*space)->complete(
          wish, pinned ? std::vector<std::string>{"vector_epilogue"} : std::vector<std::string>());
      REQUIRE(done);
      INFO(wished << ' ' << pinned << " -> " << describe(done->strategy));
      CHECK(has(done->strategy, "vector_epilogue") == (wished == pinned));
      CHECK(value(done->strategy, "k_slab", "block_k") == (pinned ? 4 : 128));
    }
  }
}

TEST_CASE("completing what is feasible changes nothing", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  for (const Strategy& strategy : samples(*space, 300, 21)) {
    const auto done = space->complete(strategy);
    REQUIRE(done);
    CHECK(done->dropped.empty());
    CHECK(done->strategy.uses == strategy.uses);
    CHECK(distance(*space, done->strategy, strategy) == 0);
  }
}

TEST_CASE("ten thousand crosses are feasible and keep most of both parents", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  const std::vector<Strategy> parents = samples(*space, 400, 22);
  int infeasible = 0, illegal = 0;
  std::map<std::string, int> cores;
  double kept = 0, wanted = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const Strategy& a = parents[i % 400];
    const Strategy& b = parents[(i * 7 + i / 400 + 1) % 400];
    const Strategy child = cross(*space, a, b, Rng::of(23, "test cross", i));
    infeasible += space->feasible(child) ? 0 : 1;
    illegal += legal_by_hand(child) ? 0 : 1;
    ++cores[child.uses.front().technique];
    for (const Strategy* parent : {&a, &b}) {
      for (const Use& use : parent->uses) {
        wanted += 1;
        kept += has(child, use.technique) ? 1 : 0;
      }
    }
  }
  CHECK(infeasible == 0);
  CHECK(illegal == 0);
  CHECK(cores["simt_core"] > 3000);
  CHECK(cores["mma_core"] > 3000);
  CHECK(kept / wanted > 0.65);
}

TEST_CASE("samples are legal, spread over both skeletons, every technique and every value",
          "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  const std::vector<Strategy> drawn = samples(*space, 2000, 24);
  std::set<std::string> ids, values, techniques;
  int simt = 0;
  for (const Strategy& strategy : drawn) {
    CHECK(legal_by_hand(strategy));
    ids.insert(strategy_id(strategy));
    simt += has(strategy, "simt_core") ? 1 : 0;
    for (const Use& use : strategy.uses) {
      techniques.insert(use.technique);
      for (const auto& [name, v] : use.values)
        values.insert(use.technique + '.' + name + '=' + std::to_string(v));
    }
  }
  CHECK(ids.size() > 1800);
  CHECK((simt > 700 && simt < 1300));
  CHECK(techniques.size() == space->techniques().size());
  std::size_t all = 0;
  for (const Knob& knob : space->knobs()) all += knob.domain.size();
  CHECK(values.size() == all);
}

TEST_CASE("a mutation changes something, stays feasible and follows the weights", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  int same = 0, illegal = 0, of_weighted = 0;
  const auto only_split = [](const std::string& technique) {
    return technique == "split_k" ? 1.0 : 0.0;
  };
  const std::vector<Strategy> parents = samples(*space, 500, 25);
  for (std::uint64_t i = 0; i < parents.size(); ++i) {
    for (const int steps : {1, 3}) {
      const Strategy child =
          mutate(*space, parents[i], steps, {},
                 Rng::of(26, "test mutate", i, static_cast<std::uint64_t>(steps)));
      same += strategy_id(child) == strategy_id(parents[i]) ? 1 : 0;
      illegal += legal_by_hand(child) && space->feasible(child) ? 0 : 1;
    }
    const Strategy child = mutate(*space, parents[i], 1, only_split, Rng::of(27, "test mutate", i));
    of_weighted += value(child, "split_k", "split") !=
                           (has(parents[i], "split_k") ? value(parents[i], "split_k", "split") : -1)
                       ? 1
                       : 0;
  }
  CHECK(same == 0);
  CHECK(illegal == 0);
  CHECK(of_weighted > 490);
}

TEST_CASE("neighbours are distinct, feasible and near; each knob that can move does", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  for (const Strategy& strategy : samples(*space, 40, 28)) {
    const std::vector<Strategy> near = neighbours(*space, strategy);
    CHECK(near.size() >= 10);
    std::set<std::string> ids = {strategy_id(strategy)};
    for (const Strategy& neighbour : near) {
      CHECK(ids.insert(strategy_id(neighbour)).second);
      CHECK(space->feasible(neighbour));
      CHECK(distance(*space, strategy, neighbour) > 0);
    }
    if (!has(strategy, "split_k")) continue;
    const std::int64_t split = value(strategy, "split_k", "split");
    if (split != 3) continue;
    std::set<std::int64_t> reached;
    for (const Strategy& neighbour : near) {
      if (has(neighbour, "split_k")) reached.insert(value(neighbour, "split_k", "split"));
    }
    CHECK(reached == std::set<std::int64_t>{2, 3, 4});
  }
}

TEST_CASE("distance is a metric on samples", "[space]") {
  const auto space = toy_space();
  REQUIRE(space);
  const std::vector<Strategy> s = samples(*space, 30, 29);
  for (std::size_t a = 0; a < s.size(); ++a) {
    CHECK(distance(*space, s[a], s[a]) == 0);
    for (std::size_t b = 0; b < a; ++b) {
      const double d = distance(*space, s[a], s[b]);
      CHECK(d == Approx(distance(*space, s[b], s[a])));
      CHECK((d > 0) == (strategy_id(s[a]) != strategy_id(s[b])));
      for (std::size_t c = 0; c < s.size(); ++c)
        CHECK(d <= distance(*space, s[a], s[c]) + distance(*space, s[c], s[b]) + 1e-9);
    }
  }
}

TEST_CASE("operators are functions of their randomness alone", "[space]") {
  const auto first = toy_space();
  const auto second = toy_space();
  REQUIRE(first);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Strategy a = sample(*first, Rng::of(31, "same", i));
    const Strategy b = sample(*second, Rng::of(31, "same", i));
    CHECK(a.uses == b.uses);
    CHECK(mutate(*first, a, 2, {}, Rng(i)).uses == mutate(*second, b, 2, {}, Rng(i)).uses);
    CHECK(cross(*first, a, sample(*first, Rng(i)), Rng(i)).uses ==
          cross(*second, b, sample(*second, Rng(i)), Rng(i)).uses);
  }
}

namespace {

Technique row(std::string name, std::vector<std::string> needs = {},
              std::vector<TechniqueParameter> parameters = {}, std::string group = "") {
  Technique technique;
  technique.name = std::move(name);
  technique.needs = std::move(needs);
  technique.parameters = std::move(parameters);
  technique.group = std::move(group);
  return technique;
}

}  // namespace

TEST_CASE("techniques that need each other come and go together; conditional needs are met",
          "[space]") {
  SpaceModel model;
  model.techniques = {
      row("a", {"b"}), row("b", {"a"}), row("c", {"d|e when f"}), row("d"),
      row("e"),        row("f"),        row("g1", {}, {}, "g"),   row("g2", {}, {}, "g")};
  const auto space = build_space(model);
  REQUIRE(space);
  const auto pair = (*space)->complete(wish_of({{"b", {}, "", {}}}));
  REQUIRE(pair);
  CHECK((has(pair->strategy, "a") && has(pair->strategy, "b")));
  CHECK(has(pair->strategy, "g1"));
  const auto conditional =
      (*space)->complete(wish_of({{"c", {}, "", {}}, {"f", {}, "", {}}, {"g2", {}, "", {}}}));
  REQUIRE(conditional);
  CHECK((has(conditional->strategy, "d") && !has(conditional->strategy, "e")));
  CHECK((has(conditional->strategy, "g2") && !has(conditional->strategy, "g1")));
  const auto chosen =
      (*space)->complete(wish_of({{"c", {}, "", {}}, {"f", {}, "", {}}, {"e", {}, "", {}}}));
  REQUIRE(chosen);
  CHECK((has(chosen->strategy, "e") && !has(chosen->strategy, "d")));
  const auto free = (*space)->complete(wish_of({{"c", {}, "", {}}}));
  REQUIRE(free);
  CHECK(!has(free->strategy, "d"));
  int halves = 0;
  for (const Strategy& s : samples(**space, 200, 32)) halves += has(s, "a") != has(s, "b") ? 1 : 0;
  CHECK(halves == 0);
}

TEST_CASE("samples reach skeletons that are built on no alternative of a group", "[space]") {
  SpaceModel model;
  model.techniques = {row("g1", {}, {}, "g"), row("a"), row("b")};
  model.skeletons = {{"built", {"g1", "a"}, {"b"}, {}, {}}, {"bare", {"a"}, {"b"}, {}, {}}};
  const auto space = build_space(model);
  REQUIRE(space);
  int built = 0;
  for (const Strategy& s : samples(**space, 200, 34)) built += has(s, "g1") ? 1 : 0;
  CHECK((built > 50 && built < 150));
}

TEST_CASE("a rare legal point is still found, and every wish ends in one", "[space]") {
  // Two of 11^6 assignments are legal; no single step leads from one restriction to the next.
  std::vector<std::int64_t> domain;
  for (int i = 0; i <= 10; ++i) domain.push_back(i);
  SpaceModel model;
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) names.push_back("t" + std::to_string(i));
  for (const std::string& name : names)
    model.techniques.push_back(row(name, {}, {{"x", domain, {}, 0}}));
  Skeleton skeleton{"rare", names, {}, {}, {}};
  for (std::size_t i = 0; i + 1 < 6; ++i) {
    skeleton.restrictions.push_back(
        {"equal neighbours", {names[i] + ".x", names[i + 1] + ".x"}, [i](const Assignment& a) {
           return a.values[i] == a.values[i + 1];
         }});
  }
  skeleton.restrictions.push_back({"7 or 9", {"t3.x"}, [](const Assignment& a) {
                                     return a.values[3] == 7 || a.values[3] == 9;
                                   }});
  model.skeletons = {skeleton};
  const auto space = build_space(model);
  INFO((space ? std::string() : space.error().message));
  REQUIRE(space);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Strategy s = sample(**space, Rng(i));
    CHECK((*space)->feasible(s));
    CHECK((value(s, "t0", "x") == 7 || value(s, "t0", "x") == 9));
  }
}

TEST_CASE("advice that nothing follows is left out of a space", "[space]") {
  const auto never = [](const Assignment&) { return false; };
  for (const bool advice : {true, false}) {
    const Restriction wanted{"near the best", {}, never, false, advice};
    const auto space = build_space({{row("a")}, {{"s", {"a"}, {}, {}, {wanted}}}});
    CHECK(static_cast<bool>(space) == advice);
  }
}

TEST_CASE("a space that cannot hold is refused with the reason", "[space]") {
  const auto never = [](const Assignment&) { return false; };
  struct Bad {
    const char* what;
    SpaceModel model;
    std::string says;
  };
  SpaceModel unknown{{row("a")}, {{"s", {"b"}, {}, {}, {}}}};
  SpaceModel empty_domain{{row("a")}, {{"s", {"a"}, {}, {{"a", "x", {}, 0}}, {}}}};
  SpaceModel stray_knob{{row("a")}, {{"s", {"a"}, {}, {{"b", "x", {1}, 1}}, {}}}};
  SpaceModel stray_read{{row("a")}, {{"s", {"a"}, {}, {}, {{"r", {"q.x"}, never}}}}};
  SpaceModel impossible{{row("a")}, {{"s", {"a"}, {}, {}, {{"1 == 2", {}, never}}}}};
  SpaceModel rivals{{row("a", {}, {}, "g"), row("b", {}, {}, "g")},
                    {{"s", {"a", "b"}, {}, {}, {}}}};
  SpaceModel contradiction{{row("a", {"a"})}, {}};
  const Bad table[] = {
      {"unknown technique", unknown, "'b'"},     {"empty domain", empty_domain, "a.x has 0 values"},
      {"stray knob", stray_knob, "b.x"},         {"stray read", stray_read, "'q.x'"},
      {"no legal point", impossible, "1 == 2"},  {"required rivals", rivals, "exclude one another"},
      {"contradiction", contradiction, "itself"}};
  for (const Bad& bad : table) {
    INFO(bad.what);
    const auto space = build_space(bad.model);
    REQUIRE_FALSE(space);
    CHECK(space.error().code == ErrorCode::usage);
    INFO(space.error().message);
    CHECK(space.error().message.find(bad.says) != std::string::npos);
  }
}
