#include "backend/virtual/plain_run.hpp"

#include "backend/oracle/plain_plan.hpp"

namespace cupilot {

Result<std::unique_ptr<PlainRun>> PlainRun::run(const VirtualContext& context, const TaskRef& task,
                                                const Case& what) {
  auto out = std::make_unique<PlainRun>();
  auto reference = context.oracle.reference(task, ReferenceBuild::plain);
  if (!reference) return reference.error();
  auto plan = plain_plan(task, what.workload, (*reference)->program);
  if (!plan) return plan.error();
  out->plan_ = std::move(*plan);
  auto memory = VirtualMemory::make(task, what, out->plan_, context.inputs);
  if (!memory) return memory.error();
  if (auto filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
    return filled.error();
  CompiledKernel kernel;
  for (const ResolvedLaunch& launch : out->plan_.launches) {
    EntryFacts facts;
    facts.name = facts.source_name = launch.entry;
    kernel.entries.push_back(std::move(facts));
  }
  KernelPrograms programs((*reference)->module);
  LaunchRun how;
  how.checks = false;
  for (const ResolvedLaunch& launch : out->plan_.launches) {
    Attempt<ptx::Report> ran = run_launch(context, kernel, programs, *memory, launch, how);
    if (ran.is_error()) return ran.error();
    if (ran.is_rejected() || !ran->faults.empty()) return out;
  }
  out->memory_ = std::move(*memory);
  return out;
}

}  // namespace cupilot
