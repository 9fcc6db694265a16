#include <algorithm>
#include <set>

#include <cupilot/family.hpp>

#include "agents/toy_tunable.hpp"
#include "kernel/tunable_values.hpp"
#include "strategy/edit.hpp"

using namespace cupilot;

namespace {

const Knob* knob_of(const Space& space, const std::string& technique,
                    const std::string& parameter) {
  for (const Knob& knob : space.knobs()) {
    if (knob.technique == technique && knob.parameter == parameter) return &knob;
  }
  return nullptr;
}

std::set<std::string> names_of(const Space& space) {
  std::set<std::string> names;
  for (const Technique& technique : space.techniques()) names.insert(technique.name);
  return names;
}

// What the tunable stands on is in use, and whatever is in use it realises.
bool stands_on(const Tunable& tunable, const Strategy& strategy) {
  return std::all_of(tunable.requires_techniques.begin(), tunable.requires_techniques.end(),
                     [&](const std::string& name) { return find_use(strategy, name) != nullptr; });
}
bool realises_all(const Tunable& tunable, const Strategy& strategy) {
  return std::all_of(strategy.uses.begin(), strategy.uses.end(), [&](const Use& use) {
    return std::count(tunable.provides.begin(), tunable.provides.end(), use.technique) != 0 ||
           std::any_of(tunable.parameters.begin(), tunable.parameters.end(),
                       [&](const TunableParameter& parameter) {
                         return parameter.technique == use.technique;
                       });
  });
}

// Knobs of its own, an optional technique, a structural one, two parameters that are off together,
// a switch.
const char* const user_header = R"json({
  "name": "mine", "family": "gemm", "summary": "a user's own", "provides": ["my_trick"], "requires": [],
  "parameters": {
    "T": {"name": "threads", "domain": [32, 64, 128], "plain": 64},
    "V": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4], "plain": 1},
    "BM": {"name": "block_m", "technique": "block_tile", "domain": [16, 48, 64], "plain": 48},
    "X": {"name": "x", "technique": "my_pair", "domain": [0, 1], "plain": 0},
    "Y": {"name": "y", "technique": "my_pair", "domain": [0, 1], "plain": 0},
    "S": {"name": "on", "technique": "serpentine", "domain": [0, 1], "plain": 0},
    "R": {"name": "thread_m", "technique": "thread_tile", "domain": [1, 2], "plain": 1}
  },
  "restrict": ["T * V <= 256", "BM % V == 0 && T >= BM"],
  "plan": {"launches": [{"entry": "f", "grid": ["cdiv(m, BM)"], "block": ["T"], "args": ["A", "B", "D"]
}]
}
})json";

// The value a strategy gives a technique's parameter, 0 without the technique.
std::int64_t value_in(const Strategy& strategy, const std::string& technique,
                      const std::string& parameter) {
  for (const Use& use : strategy.uses) {
    if (use.technique != technique) continue;
    const auto found = use.values.find(parameter);
    return found != use.values.end() ? found->second : 1;
  }
  return 0;
}

TEST_CASE(
    "a large product starts among others with a ring that fills shared memory and stores "
    "deferred") {
  const auto space = make_space(gemm_of(4096, 4096, 4096, DType::bf16), h200(), builtin_tunables());
  REQUIRE(space);
  const auto strategist = rule_strategist();
  StrategyBrief brief;
  brief.space = space->get();
  brief.zone = Zone::compute;
  std::set<std::string> tried;
  brief.tried = [&tried](const std::string& id) { return tried.contains(id); };
  bool found = false;
  for (int i = 0; i < 16; ++i) {
    const auto proposed =
        strategist->propose(brief, Rng::of(1, "start", static_cast<std::uint64_t>(i)));
    REQUIRE(proposed);
    REQUIRE(proposed->has_value());
    const Strategy& strategy = **proposed;
    found |= value_in(strategy, "deferred_store", "") == 1 &&
             value_in(strategy, "warpgroup_tile", "tile_n") == 256 &&
             value_in(strategy, "multistage", "stages") == 4;  // 4 stages of 48 KiB and the strips
    tried.insert(strategy_id(strategy));
  }
  CHECK(found);
}

}  // namespace

TEST_CASE("every strategy of the built-in space is legal by the kernel's own judgement",
          "[make_space]") {
  const DeviceSpec device = h200();
  struct Case {
    std::int64_t m, n, k;
    DType dtype;
    std::set<std::string> cores;
  };
  const Case table[] = {{4096, 4096, 4096, DType::f32, {"simt_core", "streamed_simt_core"}},
                        {512, 512, 512, DType::f32, {"simt_core", "streamed_simt_core"}},
                        {1,
                         4096,
                         4096,
                         DType::bf16,
                         {"gemv", "simt_core", "mma_core", "swap_operands", "wgmma_core"}},
                        {4095, 4097, 1023, DType::f16, {"mma_core"}}};
  for (const Case& c : table) {
    const Task task = gemm_of(c.m, c.n, c.k, c.dtype);
    const auto space = make_space(task, device, builtin_tunables());
    INFO((space ? std::string() : space.error().message));
    REQUIRE(space);
    std::set<std::string> cores;
    std::vector<Strategy> drawn;
    for (std::uint64_t i = 0; i < 150; ++i)
      drawn.push_back(sample(**space, Rng::of(3, "builtin", i)));
    for (std::uint64_t i = 0; i < 300; ++i)
      drawn.push_back(
          cross(**space, drawn[i % 150], drawn[(i * 7 + 1) % 150], Rng::of(4, "builtin", i)));
    for (const Strategy& strategy : drawn) {
      for (const Use& use : strategy.uses) {
        if (find_technique(use.technique)->group == "core") cores.insert(use.technique);
      }
      int legal = 0;
      for (const Tunable& tunable : builtin_tunables()) {
        if (!serves(tunable, task) || !stands_on(tunable, strategy) ||
            !realises_all(tunable, strategy))
          continue;
        const auto constants = constants_for(tunable, task, strategy);
        REQUIRE(constants);
        legal += broken_restriction(tunable, task, device, *constants) ? 0 : 1;
      }
      INFO(describe(strategy));
      CHECK(legal == 1);
    }
    CHECK(cores == c.cores);
  }
}

TEST_CASE(
    "built-in templates realise at least 25 techniques, all in the catalogue, with domains it "
    "knows",
    "[make_space]") {
  std::set<std::string> realised;
  for (const Tunable& tunable : builtin_tunables()) {
    if (tunable.family != "gemm") continue;
    realised.insert(tunable.provides.begin(), tunable.provides.end());
    for (const TunableParameter& parameter : tunable.parameters) {
      if (parameter.technique.empty()) continue;
      INFO(tunable.name << ": " << parameter.technique << '.' << parameter.name);
      const Technique* row = find_technique(parameter.technique);
      REQUIRE(row != nullptr);
      realised.insert(parameter.technique);
      for (const TechniqueParameter& known : row->parameters) {
        if (known.name != parameter.name) continue;
        for (const std::int64_t value : parameter.domain) {
          INFO(value);
          CHECK((value == parameter.plain ||
                 std::count(known.domain.begin(), known.domain.end(), value) == 1));
        }
      }
    }
  }
  CHECK(realised.size() >= 25);
}

TEST_CASE("a switch that is in use without a value means on", "[make_space]") {
  const Task task = gemm_of(512, 512, 512);
  const auto space = make_space(task, h200(), builtin_tunables());
  REQUIRE(space);
  const auto done = (*space)->complete(
      Strategy{{{"simt_core", {}, "", {}}, {"serpentine", {}, "", {}}}, "", {}, ""});
  REQUIRE(done);
  const Use* use = find_use(done->strategy, "serpentine");
  REQUIRE(use != nullptr);
  CHECK(use->values.empty());
  for (const Tunable& tunable : builtin_tunables()) {
    if (tunable.name != "gemm_simt") continue;
    const auto constants = constants_for(tunable, task, done->strategy);
    REQUIRE(constants);
    CHECK(constants->at("SERPENTINE") == 1);
    CHECK(constants->at("CACHE_HINT") == 0);
  }
}

TEST_CASE("what a template always uses may take its plain values", "[make_space]") {
  const auto space = make_space(gemm_of(4096, 4096, 4096, DType::bf16), h200(), builtin_tunables());
  REQUIRE(space);
  const Use core{"wgmma_core", {}, "", {}},
      tile{"warpgroup_tile", {{"tile_m", 128}, {"tile_n", 128}}, "", {}};
  const auto completed = (*space)->complete(Strategy{{core, tile}, "", {}, "test"});
  REQUIRE(completed);
  for (const std::string& dropped : completed->dropped) FAIL(dropped);
}

TEST_CASE("a user's tunable evolves by the same machinery, whatever it calls its knobs",
          "[make_space]") {
  const Tunable tunable = tunable_from(user_header);
  const Task task = gemm_of(1024, 64, 64);
  const auto space = make_space(task, h200(), {tunable});
  INFO((space ? std::string() : space.error().message));
  REQUIRE(space);
  CHECK(names_of(**space) == std::set<std::string>{"mine", "my_trick", "vector_load", "block_tile",
                                                   "my_pair", "serpentine", "thread_tile",
                                                   "simt_core"});
  for (const Technique& row : (*space)->techniques())
    if (row.name == "my_pair")
      CHECK(row.sentence ==
            "Use what tunable mine calls my_pair: a user's own. x sets X. y sets Y.");
  // Off is not a value of an optional technique; plain stays one of a structural technique; a
  // template's own knob keeps all.
  REQUIRE(knob_of(**space, "vector_load", "vector") != nullptr);
  CHECK(knob_of(**space, "vector_load", "vector")->domain == std::vector<std::int64_t>{2, 4});
  CHECK(knob_of(**space, "block_tile", "block_m")->domain == std::vector<std::int64_t>{16, 48, 64});
  CHECK(knob_of(**space, "block_tile", "block_n") == nullptr);
  CHECK(knob_of(**space, "mine", "threads")->domain == std::vector<std::int64_t>{32, 64, 128});
  CHECK(knob_of(**space, "serpentine", "on") == nullptr);
  CHECK(knob_of(**space, "thread_tile", "thread_n") == nullptr);
  std::set<std::string> ids;
  bool pair = false;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Strategy strategy = sample(**space, Rng::of(6, "user", i));
    ids.insert(strategy_id(strategy));
    CHECK(find_use(strategy, "mine") != nullptr);
    CHECK(find_use(strategy, "my_trick") != nullptr);
    CHECK(find_use(strategy, "block_tile") != nullptr);
    const auto constants = constants_for(tunable, task, strategy);
    REQUIRE(constants);
    CHECK_FALSE(broken_restriction(tunable, task, h200(), *constants));
    if (const Use* use = find_use(strategy, "my_pair")) {
      pair = true;
      CHECK(use->values.at("x") + use->values.at("y") >= 1);
    }
  }
  CHECK(pair);
  CHECK(ids.size() > 60);
}

TEST_CASE("a plan that is not for a timed shape is no part of the space", "[make_space]") {
  const std::string header = R"json({
    "name": "aligned", "family": "gemm", "summary": "x", "provides": ["simt_core"], "requires": ["simt_core"],
    "parameters": {"V": {"name": "vector", "technique": "vector_load", "domain": [1, 2, 4, 8], "plain": 1}},
    "restrict": [],
    "plan": {"let": {"rest": "k % V"}, "require": ["rest == 0"],
             "launches": [{"entry": "f", "grid": ["m"], "block": [64], "args": ["A", "B", "D"]}]}
  })json";
  const auto space = make_space(gemm_of(64, 64, 12), h200(), {tunable_from(header)});
  REQUIRE(space);
  std::set<std::int64_t> vectors;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Strategy strategy = sample(**space, Rng(i));
    const Use* use = find_use(strategy, "vector_load");
    vectors.insert(use == nullptr ? 1 : use->values.at("vector"));
  }
  CHECK(vectors == std::set<std::int64_t>{1, 2, 4});
}

TEST_CASE("a search starts where the chip is full", "[make_space]") {
  const auto start = [](std::int64_t m, std::int64_t n) {
    const auto space = make_space(gemm_of(m, n, 512), h200(), builtin_tunables());
    REQUIRE(space);
    const Knob* rows = knob_of(**space, "block_tile", "block_m");
    const Knob* columns = knob_of(**space, "block_tile", "block_n");
    return std::pair{rows->fallback, columns->fallback};
  };
  const auto large = start(4096, 4096);
  CHECK(large == std::pair<std::int64_t, std::int64_t>{128, 128});
  const auto small = start(512, 512);
  CHECK(((512 + small.first - 1) / small.first) * ((512 + small.second - 1) / small.second) >= 125);
  CHECK(small.first * small.second >= 512);
}

TEST_CASE("tiles that by the template's own model waste much are left out, where it matters",
          "[make_space]") {
  struct Row {
    std::int64_t m, n, k, tile_m, tile_n;
    bool kept;
  };
  const Row row = GENERATE(values<Row>({
      {4096, 11008, 4096, 64, 256, true},
      {4096, 11008, 4096, 64, 64, false},  // feeds the tensor cores half as fast as they multiply
      {8192, 8192, 512, 128, 16, false},
      {136, 200, 200, 64, 64, true},  // over before a launch is
  }));
  const auto space =
      make_space(gemm_of(row.m, row.n, row.k, DType::bf16), h200(), builtin_tunables());
  REQUIRE(space);
  const Use tile{"warpgroup_tile", {{"tile_m", row.tile_m}, {"tile_n", row.tile_n}}, "", {}};
  const Use consumers{"warp_specialisation", {{"consumers", 2}}, "", {}};
  const auto completed =
      (*space)->complete(Strategy{{{"wgmma_core", {}, "", {}}, tile, consumers}, "", {}, "test"});
  REQUIRE(completed);
  INFO(row.m << "x" << row.n << "x" << row.k << ", tiles of " << row.tile_m << "x" << row.tile_n);
  const Use* got = find_use(completed->strategy, "warpgroup_tile");
  REQUIRE(got != nullptr);
  CHECK((got->values == tile.values) == row.kept);
}

TEST_CASE("a task that nothing serves is a usage error that names the family", "[make_space]") {
  Task task = gemm_of(64, 64, 64);
  task.family = "origami";
  for (const auto& tunables : {std::vector<Tunable>{}, builtin_tunables()}) {
    const auto space = make_space(task, h200(), tunables);
    REQUIRE_FALSE(space);
    CHECK(space.error().code == ErrorCode::usage);
    CHECK(space.error().message.find("neither a tunable nor a model for family 'origami'") !=
          std::string::npos);
    CHECK(!space.error().hint.empty());
  }
}

TEST_CASE("a tunable without a legal point is a usage error with its restriction", "[make_space]") {
  const std::string header = R"json({
    "name": "never", "family": "gemm", "summary": "x", "provides": ["simt_core"], "requires": ["simt_core"],
    "parameters": {"V": {"name": "vector", "technique": "vector_load", "domain": [1, 2], "plain": 1}},
    "restrict": ["V > 7"],
    "plan": {"launches": [{"entry": "f", "grid": ["m"], "block": [64], "args": ["A", "B", "D"]}]}
  })json";
  const auto space = make_space(gemm_of(64, 64, 64), h200(), {tunable_from(header)});
  REQUIRE_FALSE(space);
  CHECK(space.error().code == ErrorCode::usage);
  INFO(space.error().message);
  CHECK(space.error().message.find("V > 7") != std::string::npos);
  CHECK(space.error().message.find("never") != std::string::npos);
}

TEST_CASE("limits of the device are part of legality", "[make_space]") {
  const std::string header = R"json({
    "name": "wide", "family": "gemm", "summary": "x", "provides": ["simt_core"], "requires": ["simt_core"],
    "parameters": {"T": {"name": "block_threads", "technique": "row_per_block", "domain": [512, 1024, 2048], "plain": 512},
                   "R": {"name": "stages", "technique": "multistage", "domain": [1, 2, 4, 8], "plain": 1}},
    "restrict": [], "registers": "T / 8",
    "plan": {"launches": [{"entry": "f", "grid": ["m"], "block": ["T"], "shared": "R * 50000", "args": ["A", "B", "D"]}]}
  })json";
  const auto space = make_space(gemm_of(64, 64, 64), h200(), {tunable_from(header)});
  REQUIRE(space);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Strategy strategy = sample(**space, Rng(i));
    const Use* threads = find_use(strategy, "row_per_block");
    CHECK((threads == nullptr || threads->values.at("block_threads") == 512));
    const Use* stages = find_use(strategy, "multistage");
    CHECK((stages == nullptr || stages->values.at("stages") <= 4));
  }
}

TEST_CASE("rows that no template serves change no draw", "[make_space]") {
  const std::vector<Technique> unrelated(
      {Technique{.name = "elsewhere", .parameters = {{"width", {1, 2, 4}, {}, 1}}},
       Technique{.name = "another", .needs = {"elsewhere"}}});
  const Task task = gemm_of(512, 512, 512);
  const auto alone = make_space(task, h200(), builtin_tunables());
  const auto beside = make_space(task, h200(), builtin_tunables(), unrelated);
  REQUIRE(alone);
  REQUIRE(beside);
  CHECK(names_of(**alone) == names_of(**beside));
  Strategy parent = sample(**alone, Rng(1));
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Strategy drawn = sample(**alone, Rng(i));
    CHECK(strategy_to_json(drawn) == strategy_to_json(sample(**beside, Rng(i))));
    const Strategy child = mutate(**alone, parent, 3, {}, Rng(i));
    CHECK(strategy_to_json(child) == strategy_to_json(mutate(**beside, parent, 3, {}, Rng(i))));
    parent = child;
  }
}

TEST_CASE("a space holds the template whose kernels were the fastest on an H200", "[make_space]") {
  struct Row {
    const char *task, *technique;
  };
  // docs/results/kernelbench/suite-h200.json
  for (const Row& row :
       {Row{"kernelbench:1/50", "implicit_wgmma"}, Row{"kernelbench:1/57", "window_patch"},
        Row{"kernelbench:1/58", "implicit_wgmma"}, Row{"kernelbench:1/76", "window_patch"},
        Row{"kernelbench:1/77", "window_patch"}, Row{"kernelbench:1/79", "window_patch"},
        Row{"kernelbench:1/81", "window_patch"}}) {
    INFO(row.task);
    const auto families = load_families({});
    REQUIRE(families);
    const auto task = task_from_words({row.task}, *families);
    REQUIRE(task);
    const auto space = make_space(*task, h200(), templates_of(*families, *task));
    REQUIRE(space);
    CHECK(names_of(**space).count(row.technique) == 1);
  }
}
