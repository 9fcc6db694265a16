// Attention in three launches: by its own words, and as a graph.
#include <cupilot/family.hpp>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

TEST_CASE("attention by its words is right, causal or not", "[attention][threads]") {
  const auto of = [](std::vector<std::string> words) {
    words.insert(words.begin(), "attention");
    auto task = task_from_words(words);
    REQUIRE(task);
    return *task;
  };
  const Values small = {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WARP_M", 16}, {"WARP_N", 16}};
  check_accepted(of({"batch=2", "queries=35", "keys=37", "width=19", "out=7"}), "attention_mma",
                 small);
  Values wide = small;
  wide["VECTOR"] = 4;
  wide["STAGES"] = 3;
  wide["BLOCK_K"] = 8;
  check_accepted(of({"batch=1", "queries=5", "keys=70", "width=20", "out=36", "causal=1"}),
                 "attention_mma", wide);
  check_accepted(of({"batch=1", "queries=70", "keys=6", "width=4", "out=8"}), "attention_mma",
                 {{"BLOCK_M", 64}, {"BLOCK_N", 32}, {"WARP_M", 64}, {"WARP_N", 16}, {"VECTOR", 2}});
}

// Attention over b by h of queries, with these attributes.
Result<Task> graph(std::map<std::string, Attribute> attributes, bool mask = false,
                   Precision precision = Precision::fp32_emulated) {
  std::vector<Tensor> tensors = {input("keys", {"b", "h", "m", "d"}),
                                 input("K", {"b", "h", "n", "d"}), input("V", {"b", "h", "n", "e"}),
                                 output("y", {"b", "h", "m", "e"})};
  std::vector<std::string> inputs = {"keys", "K", "V"};
  if (mask) {
    tensors.push_back(input("mask", {"m", "n"}));
    inputs.push_back("mask");
  }
  return graph_task(std::move(tensors), {{"a", "attention", inputs, {"y"}, std::move(attributes)}},
                    {{"b", 2}, {"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}, {"e", 6}}, precision);
}

TEST_CASE("a graph that is attention has the family's template", "[attention][threads]") {
  const auto plain = graph({}), causal = graph({{"causal", std::int64_t{1}}});
  REQUIRE(plain);
  REQUIRE(causal);
  for (const Task* task : {&*plain, &*causal})
    check_accepted(*task, "attention_mma", {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WARP_N", 16}});
}

TEST_CASE("attention that the template does not compute is not offered it", "[attention]") {
  const auto masked = graph({}, true), scaled = graph({{"scale", 0.5}}),
             strict = graph({}, false, Precision::fp32_strict);
  for (const auto* task : {&masked, &scaled, &strict}) {
    REQUIRE(*task);
    CHECK(named(templates_of(builtin_families(), **task), **task, "attention_mma") == nullptr);
  }
}

}  // namespace
}  // namespace cupilot
