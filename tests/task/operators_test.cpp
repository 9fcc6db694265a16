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

const std::string body_text =
    R"({"cupilot_operators": 1, "operators": [{"name": "two", "inputs": ["a", "b?"], "outputs": ["y"],
 "rule": "elementwise", "attrs": {"low": 0.5}, "work": {"flops": "2*output"}, "body": {"when": "c0 > 4",
 "operations": [{"name": "sum", "op": "add", "in": ["a", "b"], "out": ["s"]},
  {"name": "cut", "op": "clamp", "in": ["s"], "out": ["y"], "attrs": {"low": "$low", "high": 2}}]}}]})";

TEST_CASE("an operator's body is read", "[operators]") {
  const auto rows = operators_from(body_text, "here", "group");
  if (!rows) FAIL(rows.error().message);
  REQUIRE(rows->front().body);
  const OperatorBody& body = *rows->front().body;
  CHECK(body.when.text == "c0 > 4");
  REQUIRE(body.operations.size() == 2);
  CHECK(body.operations[0].kind == "add");
  CHECK(body.operations[0].inputs == std::vector<std::string>{"a", "b"});
  CHECK(body.operations[1].outputs == std::vector<std::string>{"y"});
  CHECK(body.operations[1].attributes.at("low") == Attribute(std::string("$low")));
  CHECK(body.operations[1].attributes.at("high") == Attribute(std::int64_t{2}));
  CHECK(find_operator("softmax")->body == std::nullopt);
}

TEST_CASE("a body that does not make its row's outputs is refused", "[operators]") {
  struct Row {
    const char *what, *with, *message;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"\"in\": [\"s\"]", "\"in\": [\"t\"]",
       "operators[0].body.operations: 'cut': 't' is no input of two and no output of an earlier"},
      {"\"out\": [\"y\"]", "\"out\": [\"z\"]", "none of them makes 'y'"},
      {"\"out\": [\"y\"]", "\"out\": [\"s\"]", "'cut': 's' is there already"},
      {"\"out\": [\"s\"]", "\"out\": [\"a\"]", "'sum': 'a' is there already"},
      {"\"$low\"", "\"$lo\"", "'cut': two has no attribute 'lo'"},
      {"\"name\": \"cut\"", "\"name\": \"sum\"", "two operations have this name"},
      {"c0 > 4", "c0 >", "operators[0].body.when"},
      {"\"when\"", "\"whence\"", "whence"},
      {"\"op\": \"add\", ", "", "operators[0].body.operations[0].op"},
      {"\"b?\"", "\"b...\"", "a row of any number of inputs has none"},
  }));
  std::string text = body_text;
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
