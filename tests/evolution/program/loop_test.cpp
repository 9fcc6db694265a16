// Programs of loops on the virtual device: their bodies' parts run step by step.
#include "catch.hpp"
#include "evolution/program/plain_program.hpp"
#include "task/repeats.hpp"

namespace cupilot::testing {
namespace {

// y[t] = tanh(x[t] + h w), from the end where `backwards`; hn is the last one, all of z its half.
Task recurrent_task(bool backwards = false) {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    Tensor made{.name = name, .role = role, .shape = std::move(shape)};
    made.fill = {.kind = FillKind::uniform, .low = -0.5, .high = 0.5};
    return made;
  };
  Task task;
  task.name = "recurrent";
  task.axes = {{"rows"}};
  task.tensors = {tensor("x", Role::in, {4, "rows", 6}), tensor("h0", Role::in, {"rows", 6}),
                  tensor("w", Role::in, {6, 6}), tensor("hn", Role::out, {"rows", 6}),
                  tensor("z", Role::out, {4, "rows", 6})};
  const std::string at = backwards ? "[3 - t]" : "[t]";
  task.operations = {{"recur", "linear", {"h", "w"}, {"p"}, {}, "loop"},
                     {"sum", "add", {"p", "x" + at}, {"s"}, {}, "loop"},
                     {"act", "tanh", {"s"}, {"y" + at}, {}, "loop"},
                     {"half", "mul", {"y"}, {"z"}, {{"other", 0.5}}}};
  task.repeats = {{"loop", 4, "t", {{"h", "h0", "y" + at, "hn"}}}};
  task.time_shapes = {{{{"rows", 5}}}};
  REQUIRE_OK(complete(task));
  REQUIRE_OK(validate(task));
  return task;
}

const Partition cut = {{0}, {1, 2}, {3}};

TEST_CASE("a program of a loop is proved and timed", "[search][threads]") {
  const Task task = recurrent_task(GENERATE(false, true));
  const auto writer = program_writer(task);
  const Pipe pipe{TaskRef(task), &device(), writer.get(), 1, nullptr};
  const auto candidate =
      evaluate(pipe, as_strategy(plain_program(task, cut)), ProofLevel::candidate);
  REQUIRE_OK(candidate);
  if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
  CHECK(std::get<Accepted>(candidate->outcome).measurement.time_us > 0);
  // Of each step two parts and two copies.
  CHECK(candidate->source.plan.launches.size() == 4 * 4 + 1);
}

TEST_CASE("a wrong step of a loop is refused", "[search][threads]") {
  const Task task = recurrent_task();
  struct Row {
    const char* name;
    void (*spoil)(LaunchPlan& plan);
    bool right;
  };
  // Launches of a step: recur, the copy of x[t], sum_act, the copy to y[t].
  const Row rows[] = {
      {"nothing is wrong", [](LaunchPlan&) {}, true},
      {"a step is lost",
       [](LaunchPlan& plan) {
         plan.launches.erase(plan.launches.begin() + 4, plan.launches.begin() + 8);
       },
       false},
      {"the second step begins as the first",
       [](LaunchPlan& plan) { plan.launches[4].args = plan.launches[0].args; }, false},
      {"the same place is read twice",
       [](LaunchPlan& plan) { plan.launches[9].args = plan.launches[5].args; }, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Exposed program = exposed_program(task, cut);
    REQUIRE(program.source.plan.launches.size() > 12);
    row.spoil(program.source.plan);
    const auto why = refused(program);
    if (why && row.right) FAIL(why->message);
    CHECK(why.has_value() == !row.right);
  }
}

TEST_CASE("parts lie within a body or without") {
  const Task task = recurrent_task();
  const OperationGraph graph = operation_graph(task);
  CHECK(in_launch_order(graph, {{2, 3}, {0}, {1}}).empty());
  CHECK(in_launch_order(graph, {{3}, {1, 2}, {0}}) == Partition{{0}, {1, 2}, {3}});
  // A body is not left before all of it ran.
  Task two = task;
  two.operations.insert(two.operations.begin(), {"pre", "relu", {"h0"}, {"r"}, {}});
  two.operations[2].inputs[0] = "r";
  CHECK(in_launch_order(operation_graph(two), {{1}, {0}, {2, 3}, {4}}) ==
        Partition{{0}, {1}, {2, 3}, {4}});
  const auto mixed = graph_part(task, {2, 3});
  REQUIRE_FALSE(mixed);
  CHECK_THAT(mixed.error().message, Catch::Contains("within the body of a repeat and without"));
}

TEST_CASE("a part of a body is a task of one step") {
  const auto part = graph_part(recurrent_task(), {1, 2});
  REQUIRE_OK(part);
  CHECK(part->tensors ==
        std::map<std::string, std::string>{{"p", "p"}, {"x", "x[t]"}, {"y", "y[t]"}});
  for (const Tensor& tensor : part->task.tensors)
    CHECK(tensor.shape == std::vector<Expr>{"rows", 6});
  CHECK(part->task.repeats.empty());
}

}  // namespace
}  // namespace cupilot::testing
