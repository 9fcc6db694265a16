// One kernel text with one launch plan, joined of the kernels of a program's parts
// (docs/programs.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/task.hpp>

#include "program/part_task.hpp"

namespace cupilot {

struct PartKernel {
  PartTask form{};
  KernelSource source{};
};

// Prefix of the names of a part's launches, `part` from 0: "p1_".
std::string part_prefix(std::size_t part);
// The namespace of a part's text.
std::string part_namespace(std::size_t part);

// A buffer's use: from the launches of part `first` to those of part `last`, both included.
struct Lifetime {
  std::string name{};
  Expr bytes = 0;
  std::size_t first = 0, last = 0;
};

// Buffers that hold one value after another.
struct SharedBuffers {
  std::vector<PlanBuffer> buffers{};
  std::map<std::string, std::string> buffer_of{};  // by Lifetime::name
};

// Gives each lifetime, by its beginning, the first buffer that is free by then. A buffer is as
// large as the largest value that it holds.
SharedBuffers share_buffers(std::vector<Lifetime> lifetimes);

// A sentence for each edge that is a view: which buffer holds it, and where.
std::vector<std::string> view_lines(const std::vector<PartKernel>& parts);

// Parts in the order of their launches; `program`: the task of all. An edge of it is a buffer of
// the plan, what is a tensor of it stays one, so that the exposed task (exposed_task) gets each
// edge as an output. A part that reads constant tensors alone becomes setup launches, its edges and
// scratch tables. Each text stands in a namespace, once for all parts that have it; device headers
// that need no constant stand once before them. Error usage names the part and what it lacks.
Result<KernelSource> join_parts(const Task& program, const std::vector<PartKernel>& parts);

}  // namespace cupilot
