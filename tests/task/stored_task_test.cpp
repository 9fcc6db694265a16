// Outputs that are judged by other outputs as a kernel stored them.
#include "task/stored_task.hpp"

#include <algorithm>

#include "catch.hpp"
#include "support/graph.hpp"

using namespace cupilot;
using support::graph_task;
using support::input;

namespace {

Tensor made(const char* name, Role role, DType type) {
  Tensor tensor = support::output(name, {"rows", "cols"}, type);
  tensor.role = role;
  return tensor;
}

// s = a + b, y = softmax(relu(s)).
Task residual(DType stored) {
  auto task = graph_task({input("a", {"rows", "cols"}), input("b", {"rows", "cols"}),
                          made("s", Role::out, stored), made("y", Role::out, DType::f32)},
                         {{"add", "add", {"a", "b"}, {"s"}},
                          {"relu", "relu", {"s"}, {"r"}},
                          {"soft", "softmax", {"r"}, {"y"}, {{"dim", std::int64_t{1}}}}},
                         {{"rows", 4}, {"cols", 8}});
  REQUIRE(task);
  return *task;
}

}  // namespace

TEST_CASE("an output may be judged by the rounded output that it is made of") {
  const Task task = residual(DType::bf16);
  const auto stored = stored_task(task, 3);
  REQUIRE(stored);
  CHECK(stored->stored == std::vector<std::size_t>{2});
  CHECK(stored->task.tensors[2].role == Role::in);
  const auto& stages = stored->task.reference.stages;
  CHECK(stages.size() + 1 == task.reference.stages.size());
  CHECK(std::none_of(stages.begin(), stages.end(),
                     [](const ReferenceStage& one) { return one.name == "s"; }));
}

TEST_CASE("an output of inputs alone, or of one that fp32 holds, has one reading") {
  CHECK_FALSE(stored_task(residual(DType::bf16), 2));
  CHECK_FALSE(stored_task(residual(DType::f32), 3));
}
