// Partitions against graphs that were counted by hand.
#include "catch.hpp"

#include <algorithm>

#include "program/partition.hpp"

namespace cupilot {
namespace {

OperationGraph graph_of(std::size_t count, const std::vector<std::pair<int, int>>& edges) {
  OperationGraph graph(count);
  for (const auto& [from, to] : edges) boost::add_edge(from, to, graph);
  return graph;
}

std::vector<std::pair<int, int>> chain(int count) {
  std::vector<std::pair<int, int>> edges;
  for (int i = 1; i < count; ++i) edges.emplace_back(i - 1, i);
  return edges;
}

const auto everything = [](const Part&) { return true; };
const auto alike = [](const Part&) { return 1.0; };

TEST_CASE("partitions are those that hands count") {
  struct Row {
    const char* name;
    int operations;
    std::vector<std::pair<int, int>> edges;
    std::function<bool(const Part&)> served;
    std::size_t count;
  };
  const auto pairs = [](const Part& part) { return part.size() <= 2; };
  const auto singles = [](const Part& part) { return part.size() == 1; };
  const auto not_all = [](const Part& part) { return part.size() < 4; };
  const auto no_single_first = [](const Part& part) { return part != Part{0}; };
  const Row rows[] = {
      {"one operation", 1, {}, everything, 1},
      {"two that share nothing", 2, {}, everything, 1},
      {"a chain of two", 2, chain(2), everything, 2},
      {"a chain of four", 4, chain(4), everything, 8},
      {"a chain of four, pairs", 4, chain(4), pairs, 5},
      {"a chain of four, alone", 4, chain(4), singles, 1},
      {"nothing is served", 3, chain(3), [](const Part&) { return false; }, 0},
      // Triangle: {0,2} is not convex. Apart, 01|2, 0|12, 012.
      {"a skip", 3, {{0, 1}, {1, 2}, {0, 2}}, everything, 4},
      // Twelve cuts have connected groups; {0,1,3} and {0,2,3} are not convex.
      {"a diamond", 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, everything, 10},
      {"a diamond, not as one", 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, not_all, 9},
      // 0→1, 2→3, 0→3, 2→1: {0,1} and {2,3} need each other, {0,3} and {2,1} too.
      {"two that need each other", 4, {{0, 1}, {2, 3}, {0, 3}, {2, 1}}, pairs, 5},
      {"a first one that needs company", 3, chain(3), no_single_first, 2},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto graph = graph_of(static_cast<std::size_t>(row.operations), row.edges);
    const auto found = partitions(graph, {row.served, alike});
    CHECK(found.listed);
    CHECK(found.all.size() == row.count);
  }
}

TEST_CASE("parts stand in the order of their launches") {
  const auto graph = graph_of(5, {{0, 3}, {3, 1}, {1, 4}, {2, 4}});
  const Partition ordered = in_launch_order(graph, {{1, 4}, {3}, {0}, {2}});
  CHECK(ordered == Partition{{0}, {2}, {3}, {1, 4}});
  CHECK(in_launch_order(graph, {{0, 1}, {2, 3, 4}}).empty());
}

TEST_CASE("many operations are cut by their times") {
  constexpr int count = 40;
  const auto graph = graph_of(count, chain(count));
  std::size_t asked = 0;
  const auto served = [&](const Part& part) {
    ++asked;
    return part.size() <= 3;
  };
  // Alone 10, two 12, three 13: as many threes as there are, then a single.
  const auto seconds = [](const Part& part) { return 9.0 + static_cast<double>(part.size()); };
  const auto found = partitions(graph, {served, seconds}, 4);
  CHECK_FALSE(found.listed);
  REQUIRE(found.all.size() == 4);
  CHECK(found.all.front().size() == 14);
  CHECK(asked <= count * (count + 1) / 2);
  int covered = 0;
  for (const Part& part : found.all.front()) covered += static_cast<int>(part.size());
  CHECK(covered == count);
}

TEST_CASE("chains that the task's order interleaves are cut as chains") {
  // Of an operation four chains, side by side, then what joins them two by two and all.
  constexpr int width = 4, length = 4, first = 1, joins = first + width * length;
  std::vector<std::pair<int, int>> edges;
  for (int chain = 0; chain < width; ++chain) {
    edges.emplace_back(0, first + chain);
    for (int i = 1; i < length; ++i)
      edges.emplace_back(first + (i - 1) * width + chain, first + i * width + chain);
    edges.emplace_back(first + (length - 1) * width + chain, joins + chain / 2);
  }
  edges.emplace_back(joins, joins + 2);
  edges.emplace_back(joins + 1, joins + 2);
  const auto graph = graph_of(joins + 3, edges);
  const auto is_chain = [&](const Part& part) {
    return std::all_of(part.begin(), part.end(), [&](int one) {
      return one >= first && one < joins && (one - first) % width == (part.front() - first) % width;
    });
  };
  const auto served = [&](const Part& part) { return part.size() == 1 || is_chain(part); };
  const auto found = partitions(graph, {served, alike});
  CHECK_FALSE(found.listed);
  REQUIRE_FALSE(found.all.empty());
  const Partition& best = found.all.front();
  CHECK(best.size() == 1 + width + 3);
  CHECK(std::count(best.begin(), best.end(), Part{1, 5, 9, 13}) == 1);
  CHECK(best == in_launch_order(graph, best));
}

}  // namespace
}  // namespace cupilot
