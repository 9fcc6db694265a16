#include "strategy/constraint_graph.hpp"

#include "catch.hpp"

using namespace cupilot;

namespace {

Technique row(std::string name, std::vector<std::string> needs = {},
              std::vector<std::string> excludes = {}, std::string group = "") {
  Technique technique;
  technique.name = std::move(name);
  technique.needs = std::move(needs);
  technique.excludes = std::move(excludes);
  technique.group = std::move(group);
  return technique;
}

}  // namespace

TEST_CASE("needs close over chains, exclusions and groups conflict both ways", "[graph]") {
  const std::vector<Technique> rows = {
      row("a", {"b"}),     row("b", {"c"}),       row("c"),
      row("d", {}, {"c"}), row("x", {}, {}, "g"), row("y", {}, {}, "g")};
  const auto graph = ConstraintGraph::build(rows);
  REQUIRE(graph);
  CHECK(graph->closure(0) == std::vector<int>{0, 1, 2});
  CHECK(graph->closure(2) == std::vector<int>{2});
  CHECK(graph->conflict(2, 3));
  CHECK(graph->conflict(3, 2));
  CHECK(graph->conflict(4, 5));
  CHECK_FALSE(graph->conflict(0, 4));
  REQUIRE(graph->groups().size() == 1);
  CHECK(graph->groups()[0] == std::vector<int>{4, 5});
  CHECK(graph->index("d") == 3);
  CHECK(graph->index("nobody") == -1);
}

TEST_CASE("a need may be one of several and may have a condition", "[graph]") {
  const std::vector<Technique> rows = {row("a", {"b|c when d"}), row("b"), row("c"), row("d")};
  const auto graph = ConstraintGraph::build(rows);
  REQUIRE(graph);
  REQUIRE(graph->needs(0).size() == 1);
  CHECK(graph->needs(0)[0].any_of == std::vector<int>{1, 2});
  CHECK(graph->needs(0)[0].when == 3);
  CHECK(graph->closure(0) == std::vector<int>{0});
}

TEST_CASE("techniques that need each other close over one another", "[graph]") {
  const std::vector<Technique> rows = {row("a", {"b"}), row("b", {"a"})};
  const auto graph = ConstraintGraph::build(rows);
  REQUIRE(graph);
  CHECK(graph->closure(0) == std::vector<int>{0, 1});
  CHECK(graph->closure(1) == std::vector<int>{0, 1});
}

TEST_CASE("a contradictory table is refused with the technique's name and the reason", "[graph]") {
  struct Bad {
    std::vector<Technique> rows;
    std::string names, says;
  };
  const Bad table[] = {
      {{row("a"), row("a")}, "technique a", "stands twice"},
      {{row("a", {"zz"})}, "technique a", "zz"},
      {{row("a", {}, {"zz"})}, "technique a", "zz"},
      {{row("a", {"b when zz"}), row("b")}, "technique a", "zz"},
      {{row("a", {"a"})}, "technique a", "needs itself"},
      {{row("a", {"b|a"}), row("b")}, "technique a", "needs itself"},
      {{row("a", {}, {"a"})}, "technique a", "excludes itself"},
      {{row("a", {"b", "c"}), row("b", {}, {"c"}), row("c")}, "technique a", "exclude one another"},
      {{row("a", {"b"}), row("b", {}, {"a"})}, "technique a", "exclude one another"},
      {{row("a", {"b"}), row("b", {"c"}), row("c", {"a"}, {"b"})},
       "technique a",
       "exclude one another"},
      {{row("a", {"b"}, {}, "g"), row("b", {}, {}, "g")}, "technique a", "exclude one another"},
      {{row("a", {"b when c when b"}), row("b"), row("c")}, "technique a", "'when'"},
  };
  for (const Bad& bad : table) {
    INFO(bad.says);
    const auto graph = ConstraintGraph::build(bad.rows);
    REQUIRE_FALSE(graph);
    CHECK(graph.error().code == ErrorCode::usage);
    CHECK(graph.error().message.find(bad.names) != std::string::npos);
    CHECK(graph.error().message.find(bad.says) != std::string::npos);
    CHECK(!graph.error().hint.empty());
  }
}
