// Parts of a program that compute the same of different tensors.
#pragma once

#include <string>

#include "program/part_task.hpp"

namespace cupilot {

// Says what a part computes, without the names that the program gives to tensors and operations:
// equal for parts of equal operators, shapes, types, attributes and fills. "": the part is of a
// loop and equals no other. `edges`: of which program edges the fills are that were measured and
// tell nothing apart; null: all fills count.
std::string kind_of(const PartTask& part, const Task* edges = nullptr);

// `own` as the task of `other`, a part of the same kind: the kernel of one serves both.
PartTask told_as(const PartTask& own, const PartTask& other);

}  // namespace cupilot
