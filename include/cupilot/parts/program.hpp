// Writes kernels of programs: several parts of a task's graph, one text with one launch plan
// (docs/programs.md).
#pragma once

#include <memory>

#include <cupilot/family.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Writes programs: the template of each part that realises its strategy, joined into one text with
// one launch plan (docs/programs.md). Strategies name their parts as parts_of() reads them;
// evaluate() proves what it wrote part by part, too. Error usage: the parts are no legal partition
// of the task's operations. Rejected names the part that no template realises. A
// task without operations has no parts: the writer of its family's templates.
std::unique_ptr<KernelWriter> program_writer(Task task,
                                             const Families& families = builtin_families());

}  // namespace cupilot
CUPILOT_EXPORTS_END
