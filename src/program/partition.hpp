// Cuts a task's graph of operations into parts, each of which one kernel computes
// (docs/programs.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/graph/adjacency_list.hpp>

#include <cupilot/task.hpp>

namespace cupilot {

// A vertex for each operation, in the task's order; an edge to each operation that reads an output.
struct OperationVertex {
  std::string repeat{};  // whose body it belongs to; "": none
};
using OperationGraph =
    boost::adjacency_list<boost::setS, boost::vecS, boost::bidirectionalS, OperationVertex>;
OperationGraph operation_graph(const Task& task);

using Part = std::vector<int>;        // operations, ascending
using Partition = std::vector<Part>;  // parts in the order of their launches

// Orders the parts so that each follows those that it reads from, and those of a repeat's body
// follow one another; empty: two parts need each other, so that one of them is not convex, or a
// part lies within a body and without.
Partition in_launch_order(const OperationGraph& graph, Partition partition);

struct PartQuestions {
  // True if one kernel can compute the part. Asked once a part.
  std::function<bool(const Part&)> served{};
  // The part's least time; compares parts where there are too many partitions to list.
  std::function<double(const Part&)> seconds{};
};

struct Partitions {
  std::vector<Partition> all{};
  bool listed = true;  // false: those that dynamic programming found
};

inline constexpr std::size_t most_partitions = 256;

// Every legal partition: connected parts that are served, in launch order, larger parts first.
// Where there are more than `most_partitions`, the fastest ones whose parts are runs of neighbours
// in the task's order or in one that puts chain after chain, at most `kept`.
Partitions partitions(const OperationGraph& graph, const PartQuestions& ask, std::size_t kept = 8);

}  // namespace cupilot
