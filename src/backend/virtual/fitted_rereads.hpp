// Tells what blocks of a launch load again from one at a smaller workload.
#pragma once

#include <cstddef>

#include "backend/virtual/extrapolate.hpp"
#include "backend/virtual/run.hpp"

namespace cupilot {

// A plan whose launches were counted at a smaller workload.
struct FittedPlan {
  const VirtualContext& context;
  const TaskRef& task;
  const CompiledKernel& kernel;
  KernelPrograms& programs;
  const PlanAt& plan_at;
  const ResolvedPlan& plan;
  const Workload& workload;
  const Content& content;

  // Fills reread_bytes and reread_span of launch `l`, whose counts are known, by the blocks that it
  // has at `smaller`: their share of what is loaded, and a span that grows with the reduced axes.
  // False: they cannot be told there.
  Attempt<bool> put_rereads(std::size_t l, const Sizes& smaller, ModelInput& input) const;
};

}  // namespace cupilot
