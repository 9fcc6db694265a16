#include "task/borrowed_scope.hpp"

#include "catch.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

TEST_CASE("a borrowed scope answers as task_scope does", "[task]") {
  Task task = *gemm_task({.m = 64, .n = 32, .k = 16, .dtype = DType::bf16});
  task.constants = {{"n", 7}, {"elem.B", 9}, {"elem.none", 11}};
  const Workload workload{.sizes = {{"m", 5}, {"n", 6}, {"k", 8}, {"elem.A", 12}}};
  const ExprScope wanted = task_scope(task, workload), borrowed = borrowed_scope(task, workload);
  for (const char* name :
       {"m", "n", "k", "batch", "elem.A", "elem.B", "elem.none", "elem.", "elem", "q", "", "A"}) {
    INFO(name);
    const ExprValue want = wanted(name), got = borrowed(name);
    REQUIRE(want.index() == got.index());
    if (const auto* number = std::get_if<std::int64_t>(&want)) {
      CHECK(std::get<std::int64_t>(got) == *number);
    } else {
      CHECK(std::get<ExprFault>(got).message == std::get<ExprFault>(want).message);
      CHECK(std::get<ExprFault>(got).kind == std::get<ExprFault>(want).kind);
    }
  }
}
