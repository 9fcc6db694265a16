// Graphs that update tensors element by element, written by templates and proved.
#include <cupilot/family.hpp>
#include <cupilot/parts/space.hpp>
#include <cupilot/parts/verification.hpp>

#include "catch.hpp"
#include "evolution/program/support.hpp"
#include "program/part_task.hpp"

namespace cupilot::testing {
namespace {

using Integers = std::vector<std::int64_t>;

Tensor updated(const char* name, std::vector<Expr> shape, DType type = DType::f32) {
  return {.name = name, .role = Role::in_out, .type = type, .shape = std::move(shape)};
}
Tensor given(const char* name, std::vector<Expr> shape, DType type = DType::f32) {
  return {.name = name, .type = type, .shape = std::move(shape)};
}

Result<Task> task_with(std::vector<Tensor> tensors, std::vector<Operation> operations) {
  Task task;
  task.name = "updates";
  task.axes = {{"b"}, {"r"}, {"c"}};
  task.tensors = std::move(tensors);
  task.operations = std::move(operations);
  task.time_shapes = {{{{"b", 3}, {"r", 61}, {"c", 80}}}};
  if (auto completed = complete(task); !completed) return completed.error();
  return task;
}

// A moving average of a matrix: m + t (x - m).
Result<Task> average(DType type) {
  return task_with(
      {updated("m", {"b", "r", "c"}, type), given("x", {"b", "r", "c"}, type), given("t", {"c"})},
      {{"off", "sub", {"x", "m"}, {"d"}, {}},
       {"part", "mul", {"d", "t"}, {"e"}, {}},
       {"sum", "add", {"m", "e"}, {"m"}, {}}});
}

// Two states that are made of one another's old values, and an output of a new one.
Result<Task> two_states() {
  return task_with({updated("p", {"b", "r", "c"}),
                    updated("q", {"b", "r", "c"}, DType::bf16),
                    given("x", {"b", "r", "c"}),
                    {.name = "y", .role = Role::out, .shape = {"b", "r", "c"}}},
                   {{"cross", "mul", {"p", "q"}, {"pq"}, {}},
                    {"one", "add", {"pq", "x"}, {"p"}, {}},
                    {"two", "sub", {"pq", "q"}, {"q"}, {}},
                    {"out", "tanh", {"p"}, {"y"}, {}}});
}

bool is_served(const Task& task) {
  const auto templates = templates_of(builtin_families(), task);
  return std::any_of(templates.begin(), templates.end(),
                     [&](const Tunable& one) { return serves(one, task); });
}

// Kernels of drawn strategies meet an elite's battery.
void prove_drawn(const Task& task, std::uint64_t draws) {
  const auto tunables = templates_of(builtin_families(), task);
  const auto space = make_space(task, device().device(), tunables);
  REQUIRE_OK(space);
  const auto writer = template_writer(tunables);
  for (std::uint64_t i = 0; i < draws; ++i) {
    const Strategy strategy = sample(**space, Rng::of(i, "updates"));
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    brief.device = &device().device();
    const auto source = writer->write(brief);
    if (!source) FAIL("not written");
    const auto kernel = device().compile(*source);
    if (kernel.is_rejected()) FAIL(kernel.rejected().message);
    REQUIRE(kernel);
    const auto cases = battery(task, *source, device().device(), ProofLevel::elite, 1, false);
    const auto report = device().run(TaskRef(task), *kernel, cases);
    REQUIRE_OK(report);
    const auto proof = conclude(task, *kernel, ProofLevel::elite, *report);
    if (proof.is_rejected()) FAIL(proof.rejected().code + ": " + proof.rejected().message);
    CHECK(proof);
  }
}

TEST_CASE("tensors of any type and dimension are updated element by element", "[threads]") {
  for (const auto& task :
       {average(DType::f32), average(DType::bf16), average(DType::f16), two_states()}) {
    REQUIRE_OK(task);
    CAPTURE(task->tensors[0].type, task->tensors.size());
    REQUIRE(is_served(*task));
    prove_drawn(*task, 6);
  }
}

TEST_CASE("a part that reads a tensor before another updates it does not stand alone") {
  const auto task = task_with({updated("m", {"r", "c"}),
                               given("x", {"r", "c"}),
                               {.name = "y", .role = Role::out, .shape = {"r", "c"}}},
                              {{"first", "relu", {"x"}, {"g"}, {}},
                               {"read", "mul", {"m", "x"}, {"y"}, {}},
                               {"update", "add", {"m", "g"}, {"m"}, {}}});
  REQUIRE_OK(task);
  CHECK(read_before_update(*task, {1}) == "m");
  CHECK(read_before_update(*task, {0, 1}) == "m");
  CHECK(read_before_update(*task, {1, 2}).empty());
  CHECK(read_before_update(*task, {0}).empty());
  CHECK(read_before_update(*task, {0, 2}).empty());
}

TEST_CASE("an updated element that is read at another place is no template's", "[threads]") {
  const auto states = [](std::vector<Operation> operations) {
    return task_with({updated("m", {"r", "c"}), given("x", {"r", "c"})}, std::move(operations));
  };
  const auto moved = [&](const char* kind, std::map<std::string, Attribute> how) {
    return states(
        {{"move", kind, {"m"}, {"n"}, std::move(how)}, {"sum", "add", {"n", "x"}, {"m"}, {}}});
  };
  const Result<Task> tasks[] = {
      moved("roll", {{"dims", Integers{1}}, {"shifts", Integers{1}}}),
      moved("flip", {{"dims", Integers{1}}}),
      moved("roll", {{"dims", Integers{0}}, {"shifts", Integers{1}}}),
      // Through a value of its own that is computed anew at the other place.
      states({{"own", "mul", {"m", "x"}, {"a"}, {}},
              {"move", "roll", {"a"}, {"n"}, {{"dims", Integers{1}}, {"shifts", Integers{1}}}},
              {"sum", "add", {"n", "x"}, {"m"}, {}}}),
      states({{"of_row", "sum", {"m"}, {"n"}, {{"dim", Integers{1}}, {"keepdim", std::int64_t{1}}}},
              {"sum", "add", {"n", "x"}, {"m"}, {}}}),
      states({{"peak", "softmax", {"m"}, {"n"}, {{"dim", std::int64_t{1}}}},
              {"sum", "add", {"n", "x"}, {"m"}, {}}}),
      task_with({updated("m", {"c"}),
                 given("x", {"r", "c"}),
                 {.name = "y", .role = Role::out, .shape = {"r", "c"}}},
                {{"all", "add", {"x", "m"}, {"y"}, {}}, {"own", "relu", {"m"}, {"m"}, {}}}),
      task_with({updated("m", {"r", "c"}), given("x", {"c", "r"})},
                {{"turn",
                  "transpose",
                  {"m"},
                  {"n"},
                  {{"dim0", std::int64_t{0}}, {"dim1", std::int64_t{1}}}},
                 {"sum", "add", {"n", "x"}, {"o"}, {}},
                 {"back",
                  "transpose",
                  {"o"},
                  {"m"},
                  {{"dim0", std::int64_t{0}}, {"dim1", std::int64_t{1}}}}}),
  };
  for (const Result<Task>& task : tasks) {
    REQUIRE_OK(task);
    CAPTURE(task->operations[0].kind, task->operations.size());
    CHECK_FALSE(is_served(*task));
  }
}

// Parts run in an order that follows what they hand over: one that does not would read new values.
TEST_CASE("a part reads no value that another part updates later", "[threads]") {
  const auto task = task_with({updated("m", {"r", "c"}),
                               given("x", {"r", "c"}),
                               {.name = "y", .role = Role::out, .shape = {"r", "c"}},
                               {.name = "z", .role = Role::out, .shape = {"r", "c"}}},
                              {{"old", "relu", {"m"}, {"y"}, {}},
                               {"sum", "add", {"m", "x"}, {"m"}, {}},
                               {"later", "tanh", {"m"}, {"z"}, {}}});
  REQUIRE_OK(task);
  const Families& families = builtin_families();
  CHECK_FALSE(served_part(*task, Part{0}, families));
  CHECK(served_part(*task, Part{1}, families));
  CHECK(served_part(*task, Part{2}, families));
  CHECK(served_part(*task, Part{0, 1}, families));
}

}  // namespace
}  // namespace cupilot::testing
