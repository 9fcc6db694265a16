// A strategy held to what its kernel shows, without a model.
#pragma once

#include <string>
#include <vector>

#include <cupilot/candidate.hpp>
#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/strategy.hpp>

namespace cupilot {

struct Alignment {
  Strategy strategy{};
  std::vector<std::string>
      changes{};  // a sentence each; empty: the strategy stands as it was claimed
};

// Claims whose trace the PTX lacks are dropped. What was not claimed is added only where it was
// executed or stands in the plan: code that never runs leaves traces too. Techniques that leave no
// trace stand where the text names them, or names none at all. Free ones stand: nothing speaks
// against them. Widths of loads and stores are those of the widest ones in the PTX, where all of
// the task's inputs, or outputs, have elements of one size; null: no task tells.
Alignment aligned(const Strategy& claimed, const CompiledKernel& kernel, const Counts& executed,
                  const Task* task = nullptr);

}  // namespace cupilot
