#include <algorithm>
#include <fstream>
#include <sstream>

#include <cupilot/parts/space.hpp>
#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "strategy/canonical.hpp"
#include "strategy/strategy_json.hpp"
#include "strategy/toy_space.hpp"

using namespace cupilot;

namespace {

std::string golden(const std::string& name) {
  std::ifstream file(std::string(CUPILOT_SOURCE_DIR) + "/tests/data/strategy/" + name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  std::string content = text.str();
  while (content.ends_with('\n')) content.pop_back();
  return content;
}

Strategy example() {
  Strategy strategy;
  strategy.uses = {{"simt_core", {}, "", {}},
                   {"block_tile", {{"block_m", 64}, {"block_n", 128}}, "", {}},
                   {"k_slab", {{"block_k", 16}}, "", {}},
                   {"multistage", {{"stages", 4}}, "", {"gemm"}},
                   {"free", {}, "keep \"A\" in registers\n\xC3\xA9", {}},
                   {"of_the_future", {{"depth", -3}}, "", {"b", "a"}}};
  strategy.rationale = "few tiles";
  strategy.parents = {"p1", "p2"};
  strategy.origin = "cross";
  return strategy;
}

}  // namespace

TEST_CASE("the written form, the canonical form and the id are fixed", "[strategy]") {
  CHECK(strategy_to_json(example()) == golden("example.json"));
  CHECK(canonical_json(example()) == golden("example.canonical.json"));
  CHECK(strategy_id(example()) == golden("example.id"));
  CHECK(strategy_id(Strategy{}) == golden("empty.id"));
}

TEST_CASE("what was written is read again, unknown techniques and parameters included",
          "[strategy]") {
  const auto back = strategy_from_json(strategy_to_json(example()));
  REQUIRE(back);
  CHECK(back->uses == example().uses);
  CHECK(back->rationale == "few tiles");
  CHECK(back->parents == example().parents);
  CHECK(back->origin == "cross");
  const auto space = toy_space();
  REQUIRE(space);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Strategy drawn = sample(*space, Rng::of(11, "json", i));
    const auto again = strategy_from_json(strategy_to_json(drawn));
    REQUIRE(again);
    CHECK(again->uses == drawn.uses);
    CHECK(strategy_id(*again) == strategy_id(drawn));
  }
}

TEST_CASE("the id ignores order, defaults and prose, and nothing else", "[strategy]") {
  const std::string id = strategy_id(example());
  Strategy changed = example();
  std::reverse(changed.uses.begin(), changed.uses.end());
  std::reverse(changed.uses[0].on.begin(), changed.uses[0].on.end());
  changed.rationale = "another reason";
  changed.parents.clear();
  changed.origin.clear();
  CHECK(strategy_id(changed) == id);
  Strategy sparse = example();
  sparse.uses[1].values.erase("block_n");  // 128 is its default
  sparse.uses[2].values.clear();
  CHECK(strategy_id(sparse) == id);
  const std::vector<void (*)(Strategy&)> changes = {
      [](Strategy& s) { s.uses[1].values["block_m"] = 32; },
      [](Strategy& s) { s.uses.pop_back(); },
      [](Strategy& s) { s.uses[4].text += "."; },
      [](Strategy& s) { s.uses[3].on.clear(); },
      [](Strategy& s) { s.uses[5].values["depth"] = 3; },
      [](Strategy& s) { s.uses[0].technique = "mma_core"; }};
  for (const auto& change : changes) {
    Strategy other = example();
    change(other);
    CHECK(strategy_id(other) != id);
  }
}

TEST_CASE("ids are invariant under permutation of any sampled strategy", "[strategy]") {
  const auto space = toy_space();
  REQUIRE(space);
  for (std::uint64_t i = 0; i < 200; ++i) {
    Rng rng = Rng::of(12, "permute", i);
    Strategy drawn = sample(*space, rng.fork(1));
    const std::string id = strategy_id(drawn);
    for (std::size_t k = drawn.uses.size(); k > 1; --k) {
      std::swap(drawn.uses[k - 1],
                drawn.uses[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(k)))]);
    }
    CHECK(strategy_id(drawn) == id);
    CHECK(space->feasible(drawn));
  }
}

TEST_CASE("a malformed strategy is refused with what is wrong", "[strategy]") {
  const std::string head = R"({"format":"cupilot strategy 1",)";
  struct Bad {
    std::string text, says;
  };
  const std::vector<Bad> table = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "not an object"},
      {R"({"techniques":[]})", "'format'"},
      {R"({"format":"cupilot strategy 2","techniques":[]})", "cupilot strategy 2"},
      {R"({"format":3,"techniques":[]})", "'format'"},
      {head + R"("techniques":{}})", "'techniques'"},
      {head + R"("rationale":"x"})", "'techniques'"},
      {head + R"("techniques":[],"tecniques":[]})", "'tecniques'"},
      {head + R"("techniques":[],"techniques":[]})", "twice"},
      {head + R"("techniques":[3]})", "techniques[0]"},
      {head + R"("techniques":[{}]})", "no name"},
      {head + R"("techniques":[{"name":"a","value":{}}]})", "'value'"},
      {head + R"("techniques":[{"name":"a","values":[]}]})", "'values'"},
      {head + R"("techniques":[{"name":"a","values":{"x":1.5}}]})", "a.x"},
      {head + R"("techniques":[{"name":"a","values":{"x":"wide"}}]})", "a.x"},
      {head + R"("techniques":[{"name":"a","values":{"x":18446744073709551615}}]})", "a.x"},
      {head + R"("techniques":[{"name":"a","values":{"x":1,"x":2}}]})", "'x'"},
      {head + R"("techniques":[{"name":"a"},{"name":"a"}]})", "a stands twice"},
      {head + R"("techniques":[{"name":"a","on":"gemm"}]})", "'on'"},
      {head + R"("techniques":[{"name":"a","text":7}]})", "'text'"},
      {head + R"("techniques":[],"parents":[1]})", "'parents'"},
      {head + "\"techniques\":[],\"rationale\":\"\xFF\"}", "not JSON"},
      {head + R"("techniques":[[[[[[[[[[[[]]]]]]]]]]]]})", "deeply"},
      {std::string(2 << 20, ' '), "1 MiB"},
  };
  for (const Bad& bad : table) {
    INFO(bad.text.substr(0, 120));
    const auto strategy = strategy_from_json(bad.text);
    REQUIRE_FALSE(strategy);
    CHECK(strategy.error().code == ErrorCode::usage);
    INFO(strategy.error().message);
    CHECK(strategy.error().message.find(bad.says) != std::string::npos);
    CHECK(!strategy.error().hint.empty());
  }
}

TEST_CASE("any truncation of a strategy is an error, never a crash", "[strategy]") {
  const std::string text = strategy_to_json(example());
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_FALSE(strategy_from_json(text.substr(0, length)));
}

TEST_CASE("a strategy is described in one line, in the catalogue's order", "[strategy]") {
  struct Line {
    std::vector<Use> uses;
    std::string line;
  };
  const Line table[] = {
      {{}, ""},
      {{{"multistage", {{"stages", 3}}, "", {}},
        {"thread_tile", {{"thread_m", 8}, {"thread_n", 8}}, "", {}},
        {"k_slab", {}, "", {}},
        {"block_tile", {{"block_m", 128}, {"block_n", 128}}, "", {}},
        {"simt_core", {}, "", {}}},
       "simt block 128x128x16 thread 8x8 stages 3"},
      {{{"k_slab", {{"block_k", 8}}, "", {}}, {"async_copy", {}, "", {}}}, "block_k 8 async_copy"},
      {{{"unheard_of", {{"a", 1}, {"b", 2}}, "do it", {}}, {"mma_core", {}, "", {}}},
       "mma unheard_of 1x2 \"do it\""},
  };
  for (const Line& line : table) {
    Strategy strategy;
    strategy.uses = line.uses;
    CHECK(describe(strategy) == line.line);
  }
}

TEST_CASE("a strategy inside of other JSON says what its own text says", "[strategy]") {
  Strategy bare;
  Strategy odd = example();
  odd.uses.push_back(
      {"a thing of its own", {{"depth", -3}}, "in \"prose\"\n\xff", {"gemm", "relu"}});
  odd.parents = {"one", "two"};
  odd.rationale = "for \xc3\x28 no reason";
  for (const Strategy& strategy : {bare, example(), odd}) {
    const std::string text =
        sorted_json(strategy).dump(-1, ' ', false, SortedJson::error_handler_t::replace);
    CHECK(text == SortedJson::parse(strategy_to_json(strategy)).dump());
  }
}

namespace {

ProgramStrategy two_parts() {
  ProgramStrategy program;
  program.parts = {
      {{"relu", "conv"},
       {{{"simt_core", {}, "", {}}, {"block_tile", {{"block_m", 64}, {"block_n", 128}}, "", {}}}}},
      {{"norm"}, {}}};
  program.parts[0].strategy.uses[1].values.erase("block_n");  // 128 is its default
  program.rationale = "fused";
  program.origin = "user";
  return program;
}

}  // namespace

TEST_CASE("a program's written form, canonical form and id are fixed", "[strategy]") {
  CHECK(program_strategy_to_json(two_parts()) == golden("program.json"));
  CHECK(canonical_json(two_parts()) == golden("program.canonical.json"));
  CHECK(strategy_id(two_parts()) == golden("program.id"));
  const auto back = program_strategy_from_json(golden("program.json"));
  REQUIRE(back);
  CHECK(back->parts == two_parts().parts);
  CHECK(back->rationale == "fused");
  CHECK(back->origin == "user");
}

TEST_CASE("of one part a program is written as the strategy, with its id", "[strategy]") {
  ProgramStrategy program;
  program.parts = {{{"gemm"}, {example().uses}}};
  program.rationale = example().rationale;
  program.parents = example().parents;
  program.origin = example().origin;
  CHECK(program_strategy_to_json(program) == golden("example.json"));
  CHECK(canonical_json(program) == golden("example.canonical.json"));
  CHECK(strategy_id(program) == golden("example.id"));
  const auto plain = program_strategy_from_json(golden("example.json"));
  REQUIRE(plain);
  REQUIRE(plain->parts.size() == 1);
  CHECK(plain->parts[0].on.empty());
  CHECK(plain->parts[0].strategy.uses == example().uses);
  CHECK(plain->parents == example().parents);
  const auto by_part =
      strategy_from_json(R"({"format":"cupilot strategy 1","partition":[["gemm"]],"origin":"user",)"
                         R"("parts":[{"on":["gemm"],"techniques":[{"name":"simt_core"}]}]})");
  REQUIRE(by_part);
  CHECK(by_part->uses.size() == 1);
  CHECK(by_part->origin == "user");
}

TEST_CASE("of two parts the order and who computes what are the identity", "[strategy]") {
  const std::string id = strategy_id(two_parts());
  ProgramStrategy same = two_parts();
  std::reverse(same.parts[0].on.begin(), same.parts[0].on.end());
  std::reverse(same.parts[0].strategy.uses.begin(), same.parts[0].strategy.uses.end());
  same.rationale.clear();
  CHECK(strategy_id(same) == id);
  const std::vector<void (*)(ProgramStrategy&)> changes = {
      [](ProgramStrategy& p) { std::swap(p.parts[0], p.parts[1]); },
      [](ProgramStrategy& p) {
        p.parts[1].on.push_back("relu"), p.parts[0].on.erase(p.parts[0].on.begin());
      },
      [](ProgramStrategy& p) { p.parts[0].strategy.uses.pop_back(); },
      [](ProgramStrategy& p) { p.parts.pop_back(); }};
  for (const auto& change : changes) {
    ProgramStrategy other = two_parts();
    change(other);
    CHECK(strategy_id(other) != id);
  }
}

TEST_CASE("a program is one strategy, from which its parts come back", "[strategy]") {
  const auto read = strategy_from_json(golden("program.json"));
  REQUIRE(read);
  CHECK(read->uses == as_strategy(two_parts()).uses);
  CHECK(parts_of(*read).parts == two_parts().parts);
  CHECK(describe(*read) == "relu, conv: simt block 64x128; norm: plain");
  const auto again = strategy_from_json(strategy_to_json(*read));
  REQUIRE(again);
  CHECK(parts_of(*again).parts == two_parts().parts);
  const auto plain = parts_of(example());
  REQUIRE(plain.parts.size() == 1);
  CHECK(plain.parts[0].on.empty());
  CHECK(as_strategy(plain).uses == example().uses);
}

TEST_CASE("a program that is no partition is refused by name", "[strategy]") {
  const std::string head = R"({"format":"cupilot strategy 1",)",
                    one = R"({"on":["a"],"techniques":[]})",
                    two = R"({"on":["b"],"techniques":[]})";
  struct Bad {
    std::string text, says;
  };
  const std::vector<Bad> table = {
      {head + R"("parts":[]})", "at least one"},
      {head + R"("parts":{}})", "at least one"},
      {head + R"("parts":[)" + one + R"(],"techniques":[]})", "'techniques'"},
      {head + R"("parts":[)" + one + "," + one + "]}", "a stands in two parts"},
      {head + R"("parts":[)" + one + R"(,{"techniques":[]}]})", "parts[1] names no operation"},
      {head + R"("parts":[)" + one + R"(,{"on":["b"]}]})", "'techniques'"},
      {head + R"("parts":[)" + one + R"(,{"on":["b"],"technique":[]}]})", "'technique'"},
      {head + R"("partition":[["a"]],"parts":[)" + one + "," + two + "]}", "1 parts"},
      {head + R"("partition":[["a"],["c"]],"parts":[)" + one + "," + two + "]}", "parts[1]"},
      {head + R"("partition":[["a"],3],"parts":[)" + one + "," + two + "]}", "no list"},
      {head + R"("partition":3,"parts":[)" + one + "]}", "'partition'"},
      {head + R"("partition":[["a"]],"techniques":[]})", "'partition'"}};
  for (const Bad& bad : table) {
    INFO(bad.text);
    const auto program = program_strategy_from_json(bad.text);
    REQUIRE_FALSE(program);
    INFO(program.error().message);
    CHECK(program.error().code == ErrorCode::usage);
    CHECK(program.error().message.find(bad.says) != std::string::npos);
  }
}
