// A part of one operation as a task of a family that states the operator (family.md, `operators`).
#pragma once

#include <vector>

#include <cupilot/family.hpp>

#include "program/part_task.hpp"

namespace cupilot {

// Forms of the part in the words of the family; none: it has several operations, or the family does
// not state its operator.
std::vector<PartTask> family_forms(const PartTask& graph, const Family& family,
                                   const Families& families);

}  // namespace cupilot
