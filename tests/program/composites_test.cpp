// Tasks whose composites stand as their bodies, and the parts that these are cut into.
#include "program/composites.hpp"

#include "catch.hpp"
#include "support/graph.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

using Names = std::vector<std::string>;

// Attention over rows of `width` numbers, and the rectified x before it.
Task attention_task(std::int64_t width, std::map<std::string, Attribute> attributes = {}) {
  auto task = graph_task({input("x", {"h", "m", "d"}), input("K", {"h", "n", "d"}),
                          input("V", {"h", "n", "e"}), output("y", {"h", "m", "e"})},
                         {{"act", "relu", {"x"}, {"q"}, {}},
                          {"a", "attention", {"q", "K", "V"}, {"y"}, std::move(attributes)}},
                         {{"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}, {"e", width}},
                         Precision::fp32_emulated);
  if (!task) FAIL(task.error().message);
  return *task;
}

Partitions partitions_of(const ComposedTask& program) {
  return partitions(operation_graph(program.task),
                    {[&](const Part& part) {
                       return static_cast<bool>(served_part(program, part, builtin_families()));
                     },
                     [](const Part&) { return 1.0; }});
}

TEST_CASE("bodies of built-in operators are of operators that there are", "[operators]") {
  for (const OperatorRow& row : all_operators()) {
    if (!row.body) continue;
    INFO(row.name);
    for (const Operation& step : row.body->operations) {
      INFO(step.name);
      const OperatorRow* known = find_operator(step.kind);
      REQUIRE(known != nullptr);
      for (const auto& [name, value] : step.attributes) CHECK(known->defaults.contains(name));
    }
  }
}

TEST_CASE("a composite stands as its body with its attributes") {
  const Task task = attention_task(257, {{"causal", std::int64_t{1}}});
  const ComposedTask program = compose_bodies(task, builtin_families());
  REQUIRE(program.has_body());
  REQUIRE(program.task.operations.size() == 4);
  CHECK(program.origin == std::vector<int>{0, 1, 1, 1});
  const Operation& scores = program.task.operations[1];
  CHECK(scores.name == "a_scores");
  CHECK(scores.kind == "attention_scores");
  CHECK(scores.inputs == Names{"q", "K"});
  CHECK(scores.outputs == Names{"a_score"});
  CHECK(scores.attributes.at("causal") == Attribute(std::int64_t{1}));
  CHECK(scores.attributes.at("scale") == Attribute(0.0));
  CHECK(program.task.operations[3].outputs == Names{"y"});
  CHECK(edge_names(program.task) == std::set<std::string>{"q", "a_score", "a_weight"});
}

TEST_CASE("a composite that a template serves well enough stays one operation") {
  CHECK_FALSE(compose_bodies(attention_task(256), builtin_families()).has_body());
  CHECK(compose_bodies(attention_task(257), builtin_families()).has_body());
  CHECK_FALSE(compose_bodies(attention_task(64, {{"scale", 0.5}}), builtin_families()).has_body());
  // No template serves this class.
  Task strict = attention_task(64);
  strict.precision = Precision::fp32_strict;
  CHECK(compose_bodies(strict, builtin_families()).has_body());
  Task own = attention_task(257);
  own.reference.text = "// of its own";
  CHECK_FALSE(compose_bodies(own, builtin_families()).has_body());
}

TEST_CASE("a name of the task that is one of the body's leaves the composite whole") {
  Task task = attention_task(257);
  task.operations[0].outputs = {"a_score"};
  task.operations[1].inputs[0] = "a_score";
  task.reference = {};
  REQUIRE(complete(task));
  const ComposedTask program = compose_bodies(task, builtin_families());
  CHECK_FALSE(program.has_body());
  CHECK(program.origin == std::vector<int>{0, 1});
  REQUIRE(program.whole.size() == 1);
  CHECK(program.whole[0].find("a stays whole: ") == 0);
}

TEST_CASE("a body that does not fit leaves the others in place") {
  // The first attention's edge has the name of one in the second one's body.
  auto task = graph_task({input("q", {"h", "m", "d"}), input("K", {"h", "n", "d"}),
                          input("V", {"h", "n", "d"}), output("y", {"h", "m", "d"})},
                         {{"a", "attention", {"q", "K", "V"}, {"b_score"}, {{"scale", 0.5}}},
                          {"b", "attention", {"b_score", "K", "V"}, {"y"}, {{"scale", 0.5}}}},
                         {{"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}}, Precision::fp32_strict);
  if (!task) FAIL(task.error().message);
  const ComposedTask program = compose_bodies(*task, builtin_families());
  CHECK(program.replaced == std::set<int>{0});
  CHECK(program.origin == std::vector<int>{0, 0, 0, 1});
  REQUIRE(program.whole.size() == 1);
  CHECK(program.whole[0].find("b stays whole: ") == 0);
}

TEST_CASE("an operation that reads one tensor twice has no form in a family's words") {
  // Four names of the words, and four tensors: the mask would have none.
  for (const bool masked : {true, false}) {
    std::vector<Tensor> tensors = {input("q", {"h", "m", "d"}), input("K", {"h", "m", "d"})};
    Names inputs = {"q", "K", "K"};
    if (masked) {
      tensors.push_back(input("mask", {"m", "m"}));
      inputs.push_back("mask");
    }
    tensors.push_back(output("y", {"h", "m", "d"}));
    const auto task = graph_task(std::move(tensors), {{"a", "attention", inputs, {"y"}}},
                                 {{"h", 2}, {"m", 9}, {"d", 10}}, Precision::fp32_emulated);
    if (!task) FAIL(task.error().message);
    CHECK_FALSE(stated_part(*task, 0, builtin_families()));
    CHECK(served_part(*task, Part{0}, builtin_families()));
  }
}

TEST_CASE("a body of one operation is the composite again") {
  ComposedTask program;
  program.given = attention_task(64);
  program.task = program.given;
  program.task.operations[0].name = "act_step";
  program.origin = {0, 1};
  program.replaced = {0};
  CHECK(program.has_body());
  CHECK(names_of(program, {0}) == Names{"act"});
  CHECK(names_of(program, {1}) == Names{"a"});
}

TEST_CASE("a part that holds all of a body is the composite again") {
  const ComposedTask program = compose_bodies(attention_task(257), builtin_families());
  CHECK(names_of(program, {1, 2, 3}) == Names{"a"});
  CHECK(names_of(program, {0, 1, 2, 3}) == Names{"act", "a"});
  CHECK(names_of(program, {1, 2}) == Names{"a_scores", "a_weights"});
  const auto whole = served_part(program, {1, 2, 3}, builtin_families());
  if (!whole) FAIL(whole.error().message);
  CHECK(whole->name == "a");
  CHECK(whole->task.family == "attention");
  const auto values = served_part(program, {3}, builtin_families());
  if (!values) FAIL(values.error().message);
  CHECK(values->task.family == "gemm");
}

// A product of the body's last step alone could write a view, the templates of attention cannot.
TEST_CASE("a composite that writes no views keeps the templates of the whole", "[views]") {
  auto task = graph_task(
      {input("q", {"h", "m", "d"}), input("K", {"h", "n", "d"}), input("V", {"h", "n", "e"}),
       input("z", {"h", "m", "e"}), output("y", {"h", "m", "e + e"})},
      {{"a", "attention", {"q", "K", "V"}, {"left"}, {}},
       {"act", "relu", {"z"}, {"right"}, {}},
       {"join", "cat", {"left", "right"}, {"y"}, {{"dim", std::int64_t{2}}}}},
      {{"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}, {"e", 260}}, Precision::fp32_emulated);
  if (!task) FAIL(task.error().message);
  const ComposedTask program = compose_with_views(*task, builtin_families());
  REQUIRE(program.has_body());
  CHECK(program.views.places.contains("right"));
  CHECK_FALSE(program.views.places.contains("left"));
}

TEST_CASE("partitions of a composite hold it whole and as its body") {
  const ComposedTask program = compose_bodies(attention_task(257), builtin_families());
  std::set<std::vector<Names>> all;
  for (const Partition& partition : partitions_of(program).all) {
    std::vector<Names> names;
    for (const Part& part : partition) names.push_back(names_of(program, part));
    CHECK(all.insert(names).second);
  }
  CHECK(all.contains({{"act"}, {"a"}}));
  CHECK(all.contains({{"act"}, {"a_scores"}, {"a_weights"}, {"a_values"}}));
}

}  // namespace
}  // namespace cupilot
