// A part of a program as a step of a library: a product with an epilogue that the library has, or
// a convolution (docs/programs.md, Library steps).
#pragma once

#include <optional>
#include <string>

#include <cupilot/family.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "kernel/library_step.hpp"
#include "program/part_task.hpp"

namespace cupilot {

// The operations behind the first of a graph, as the library's epilogue.
struct LibraryEpilogue {
  std::string bias{};  // a tensor; "": none
  StepEpilogue kind = StepEpilogue::plain;
  std::string output{};  // of the last operation
};
// Rejected{measure.failed} names the operation that the library has no epilogue for.
Attempt<LibraryEpilogue> library_epilogue(const Task& graph);

// The task as one launch that is a step of a library, which template_name names, with a plain
// kernel that stands in where the library is not. Rejected{measure.failed} says why there is none.
Attempt<KernelSource> library_part(const Task& task, const Families& families);

// A part that no template serves as a task that the library computes; nullopt: it does not.
std::optional<PartTask> step_alone(const Task& program, const Part& part, const Families& families,
                                   const EdgeFills& fills = {});

}  // namespace cupilot
