#include "backend/virtual/plain_run.hpp"

#include <algorithm>

#include "backend/oracle/plain_plan.hpp"

namespace cupilot {

Result<std::unique_ptr<PlainRun>> PlainRun::run(const VirtualContext& context, const TaskRef& task,
                                                const Case& what) {
  return over(context, task, what, ReferenceBuild::plain, {});
}

Result<std::unique_ptr<PlainRun>> PlainRun::over(const VirtualContext& context, const TaskRef& task,
                                                 const Case& what, ReferenceBuild build,
                                                 std::span<const TensorBytes> tensors) {
  auto out = std::make_unique<PlainRun>();
  auto reference = context.oracle.reference(task, build);
  if (!reference) return reference.error();
  auto plan = plain_plan(task, what.workload, (*reference)->program, build);
  if (!plan) return plan.error();
  out->plan_ = std::move(*plan);
  auto memory = VirtualMemory::make(task, what, out->plan_, context.inputs);
  if (!memory) return memory.error();
  if (auto filled = memory->fill_tensors(context.inputs, Poison::quiet_nan); !filled)
    return filled.error();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].empty() || task->tensors[i].role == Role::out) continue;
    const auto from = std::as_bytes(std::span(tensors[i]));
    const auto to = std::as_writable_bytes(memory->device().data(memory->tensor(i)));
    std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
  }
  CompiledKernel kernel;
  for (const ResolvedLaunch& launch : out->plan_.launches) {
    EntryFacts facts;
    facts.name = facts.source_name = launch.entry;
    kernel.entries.push_back(std::move(facts));
  }
  KernelPrograms programs((*reference)->module);
  LaunchRun how;
  how.checks = false;
  how.trusted = true;
  for (const ResolvedLaunch& launch : out->plan_.launches) {
    Attempt<ptx::Report> ran = run_launch(context, kernel, programs, *memory, launch, how);
    if (ran.is_error()) return ran.error();
    if (ran.is_rejected() || !ran->faults.empty()) return out;
  }
  out->memory_ = std::move(*memory);
  return out;
}

}  // namespace cupilot
