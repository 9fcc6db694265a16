#include "counting.hpp"

#include <cupilot/parts/rejection.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "backend/compile/pool.hpp"
#include "backend/oracle/reference_values.hpp"
#include "backend/virtual/counts.hpp"

using namespace cupilot;

struct Counting::State {
  DeviceSpec device;
  std::unique_ptr<CompilePool> pool;
  VirtualInputs inputs{1ll << 30};
  std::unique_ptr<VirtualOracle> oracle;
};

Counting::Counting(std::unique_ptr<State> state) : state_(std::move(state)) {}
Counting::~Counting() = default;

Result<std::unique_ptr<Counting>> Counting::open(const std::string& name) {
  auto device = chip(name);
  if (!device) return device.error();
  BackendOptions few;
  few.compile_jobs = 1;
  auto pool = CompilePool::open(few);
  if (!pool) return pool.error();
  auto state = std::make_unique<State>();
  state->device = std::move(*device);
  state->pool = std::move(*pool);
  state->oracle =
      std::make_unique<VirtualOracle>(*state->pool, state->device.arch, state->inputs, 0);
  return std::unique_ptr<Counting>(new Counting(std::move(state)));
}

Attempt<std::vector<ModelInput>> Counting::inputs(const TaskRef& task,
                                                  const CompiledKernel& kernel) const {
  const VirtualContext context{state_->device, state_->inputs, *state_->oracle};
  const Workload& workload = task->time_shapes.front();
  const PlanAt plan_at = [&](const Workload& at) {
    return resolve(kernel.source, task, at, state_->device, &kernel);
  };
  auto programs = KernelPrograms::parse(kernel);
  if (programs.is_rejected()) return programs.rejected();
  if (programs.is_error()) return programs.error();
  auto resolution = plan_at(workload);
  if (resolution.is_rejected()) return resolution.rejected();
  if (resolution.is_error()) return resolution.error();
  const auto* plan = std::get_if<ResolvedPlan>(&*resolution);
  if (plan == nullptr) return reject("verify.no_shape", "the plan is not for the timed shape");
  return count_launches(context, task, kernel, *programs, plan_at, *plan, workload,
                        {1, ContentKind::ordinary});
}
