#include "backend/contestant/graph.hpp"

#include <cupilot/family.hpp>
#include <cupilot/parts/suite.hpp>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "catch.hpp"
#include "task/content.hpp"

using namespace cupilot;

TEST_CASE("a graph is told with the shapes of its workload") {
  const Task task = *task_from_words({"kernelbench:1/23", "rows=4", "cols=6"}, builtin_families());
  const auto graph = contestant_graph(task, task.time_shapes.front());
  REQUIRE(graph);
  const SortedJson json = SortedJson::parse(*graph);
  CHECK(json.at("tensors").at(0).at("shape") == SortedJson({4, 6}));
  CHECK(json.at("tensors").at(0).at("strides") == SortedJson({6, 1}));
  CHECK(json.at("tensors").at(1).at("role") == "out");
  CHECK(json.at("operations").at(0).at("kind") == "softmax");
  CHECK(json.at("operations").at(0).at("attributes").at("dim") == 1);
}

TEST_CASE("a number that JSON lacks goes as a word") {
  Task task = *task_from_words({"kernelbench:1/32", "rows=4", "cols=6"}, builtin_families());
  task.operations.front().attributes["max_val"] = std::numeric_limits<double>::infinity();
  const auto graph = contestant_graph(task, task.time_shapes.front());
  REQUIRE(graph);
  CHECK_THAT(*graph, Catch::Contains("\"max_val\":\"inf\""));
}

TEST_CASE("a task without operations has no graph") {
  Task task = *task_from_words({"kernelbench:1/23", "rows=4", "cols=6"}, builtin_families());
  task.operations.clear();
  const auto graph = contestant_graph(task, task.time_shapes.front());
  REQUIRE(!graph);
  CHECK(graph.error().code == ErrorCode::usage);
}

TEST_CASE("a digest is of elements as they are stored, the first and the last among them") {
  const Task task = *task_from_words({"kernelbench:1/23", "rows=4", "cols=6"}, builtin_families());
  const FillParams recipe =
      *fill_params(task, 0, task.time_shapes.front(), Content{3, ContentKind::ordinary});
  std::vector<std::byte> memory(24 * 4);
  fill(recipe, memory);
  const ContentDigest digest = content_digest(recipe, 0, 3);
  REQUIRE(digest.places.size() >= 2);
  CHECK(digest.places[0] == 0);
  CHECK(digest.places[1] == 23);
  std::string bytes;
  for (const std::int64_t place : digest.places)
    bytes.append(reinterpret_cast<const char*>(memory.data()) + 4 * place, 4);
  CHECK(digest.sha256 == sha256_hex(bytes));
}

TEST_CASE("the constants of a family's own operator are told") {
  const Task task =
      *task_from_words({"gemm", "m=4", "n=5", "k=6", "layout=nt"}, builtin_families());
  const auto graph = contestant_graph(task, task.time_shapes.front());
  REQUIRE(graph);
  const SortedJson json = SortedJson::parse(*graph);
  CHECK(json.at("operations").at(0).at("kind") == "gemm");
  CHECK(json.at("constants").at("TRANS_B") == 1);
}
