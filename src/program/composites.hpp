// Composites: operators with a body, which stand as its operations where a task is cut into parts
// (docs/programs.md).
#pragma once

#include <set>
#include <string>
#include <vector>

#include <cupilot/family.hpp>
#include <cupilot/task.hpp>

#include "program/part_task.hpp"
#include "program/partition.hpp"

namespace cupilot {

struct ComposedTask {
  Task given{};                      // as its author states it
  Task task{};                       // the same tensors; bodies in place of composites
  std::vector<int> origin{};         // of each operation of `task`: that of `given`
  std::set<int> replaced{};          // operations of `given` whose bodies stand in `task`
  std::vector<std::string> whole{};  // a sentence for each whose body would not fit
  Views views{};                     // of `task`; none before they were looked for
  bool has_body() const { return !replaced.empty(); }
};

// Puts the body in place of each composite whose row offers it at all time shapes (`when`), or that
// no template serves. Those in a loop stay, and those whose body does not fit the task.
ComposedTask compose_bodies(const Task& given, const Families& families);

// With the views among its edges, which takes longer.
ComposedTask compose_with_views(const Task& given, const Families& families);

// Names of a part's operations; a composite that lies in it whole has its own.
std::vector<std::string> names_of(const ComposedTask& program, const Part& part);

// As served_part of a task; a composite that lies in the part whole is one operation again.
Result<PartTask> served_part(const ComposedTask& program, const Part& part,
                             const Families& families, const EdgeFills& fills = {});

}  // namespace cupilot
