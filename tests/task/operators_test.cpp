// Rows of operators: what is read, what is refused, what they say of a task.
#include "task/operators.hpp"

#include <set>

#include "catch.hpp"

namespace cupilot {
namespace {

const std::string row_text =
    R"({"cupilot_operators": 1, "operators": [{"name": "dot", "aten": ["aten.dot"], "onnx": [],
 "attributes": ["T"], "inputs": ["a", "b", "c"], "outputs": ["d"], "factors": 2, "finite": ["c"],
 "work": {"flops": "2*k", "matmul_like": "sums"}, "references": ["dot.cu"]}]})";

TEST_CASE("every field of an operator is read", "[operators]") {
  const auto rows = operators_from(row_text, "here", "group");
  if (!rows) FAIL(rows.error().message);
  REQUIRE(rows->size() == 1);
  const OperatorRow& row = rows->front();
  CHECK(row.name == "dot");
  CHECK(row.group == "group");
  CHECK(row.factors == 2);
  CHECK(row.finite == std::vector<std::string>{"c"});
  CHECK(row.inputs == std::vector<std::string>{"a", "b", "c"});
  CHECK(row.work.flops.text == "2*k");
  CHECK(row.references == std::vector<std::string>{"dot.cu"});
}

TEST_CASE("an operator that cannot be is refused by name", "[operators]") {
  struct Row {
    const char *what, *with, *message;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"\"cupilot_operators\": 1", "\"cupilot_operators\": 2", "of another version"},
      {"\"factors\": 2", "\"factors\": 4", "operators[0].factors: there are fewer inputs"},
      {"\"finite\"", "\"finit\"", "finit"},
      {"\"2*k\"", "\"2*\"", "operators[0].work.flops"},
      {"\"name\": \"dot\", ", "", "name"},
  }));
  std::string text = row_text;
  text.replace(text.find(row.what), std::string(row.what).size(), row.with);
  const auto rows = operators_from(text, "here", "group");
  REQUIRE_FALSE(rows);
  CHECK_THAT(rows.error().message, Catch::Contains(row.message));
}

TEST_CASE("built-in operators have their references", "[operators]") {
  for (const char* kind : {"gemm", "softmax", "log_softmax"}) {
    INFO(kind);
    const OperatorRow* row = find_operator(kind);
    REQUIRE(row != nullptr);
    for (const std::string& file : row->references)
      CHECK_FALSE(operator_reference(row->group + "/" + file).empty());
  }
  CHECK(find_operator("transmogrify") == nullptr);
}

TEST_CASE("built-in operators have names of their own", "[operators]") {
  std::set<std::string> names;
  for (const OperatorRow& row : all_operators()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
  }
}

TEST_CASE("a task is like a matrix product where it or its operator says so", "[operators]") {
  Task task;
  CHECK_FALSE(is_matmul_like(task));
  task.operations = {{.name = "s", .kind = "softmax"}};
  CHECK_FALSE(is_matmul_like(task));
  task.operations.push_back({.name = "p", .kind = "gemm"});
  CHECK(is_matmul_like(task));
  task.operations.clear();
  task.work.matmul_like = "it is";
  CHECK(is_matmul_like(task));
}

}  // namespace
}  // namespace cupilot
