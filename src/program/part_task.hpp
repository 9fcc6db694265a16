// A part of a program as a task of its own (docs/programs.md).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <cupilot/family.hpp>
#include <cupilot/task.hpp>

#include "program/partition.hpp"
#include "program/views.hpp"

namespace cupilot {

// Content of edges that parts read, by name; default: normal, mean 0, deviation 1.
using EdgeFills = std::map<std::string, Fill>;

struct PartTask {
  std::string name{};  // its operations, joined by '_'
  Task task{};
  // Its tensors -> tensors and edges of the program, or as an operation of a body names them
  // ("x[t]", a carried name).
  std::map<std::string, std::string> tensors{};
  std::map<std::string, ViewPlace> places{};  // of its tensors that are views, by their own names
  std::map<std::string, Expr> axes{};         // its axes -> over the program's sizes
  std::string repeat{};                       // whose body it belongs to; "": none
  bool only_views = false;  // a `cat` whose inputs others write in place: it has no kernel
};

// Storage of an edge: what a part hands to another is rounded to it once. What a layout operator
// moves keeps its type, which rounds nothing; else fp32, or fp64 in tasks of that class.
DType edge_type(const Task& program, std::string_view edge);

// The edge of this name, or null.
const Edge* find_edge(const Task& task, std::string_view name);

// The task with these of its edges as outputs beside its own. Error usage: it has no operations.
Result<Task> exposed_task(const Task& program, const std::set<std::string>& edges);
// Names of all edges.
std::set<std::string> edge_names(const Task& task);

// The operations as a task: what they read is an input, what others or the caller read is an
// output. Error usage: the part is no valid task.
// `views`: tensors that lie so have strides; a `cat` alone copies those inputs that are no views.
Result<PartTask> graph_part(const Task& program, const Part& part, const EdgeFills& fills = {},
                            const Views& views = {});

// The program itself as a part.
PartTask whole_task(const Task& program);

// Templates that families have for the task's only operation (family.md, `operators`), in the
// task's names; not those with hooks.
std::vector<Tunable> templates_of_operator(const Families& families, const Task& task);

// One operation in the words of a family that states it; nullopt: none does.
std::optional<PartTask> stated_part(const Task& program, int operation, const Families& families);

// The tensor that the part reads as it was before an operation of another part updates it; "":
// none. That part may run first.
std::string read_before_update(const Task& program, const Part& part);

// The part as a task that a template of the families serves: that which a family states for its
// only operator (family.md, `operators`), else its graph. Error usage: none serves it. A task that
// templates serve is its own only part.
Result<PartTask> served_part(const Task& program, const Part& part, const Families& families,
                             const EdgeFills& fills = {}, const Views& views = {});

}  // namespace cupilot
