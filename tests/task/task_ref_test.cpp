#include <cupilot/task.hpp>
#include "catch.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

TEST_CASE("a task that is shared keeps the id that its content had", "[task]") {
  CHECK_FALSE(TaskRef());
  Task task = *gemm_task({});
  const TaskRef first(task);
  REQUIRE(first);
  CHECK(first.id() == task_id(task));
  task.precision = Precision::bf16;
  const TaskRef other(task), copy = first;
  CHECK(&*copy == &*first);
  CHECK(copy.id() == first.id());
  CHECK(other.id() != first.id());
  CHECK(first->precision != Precision::bf16);
}
