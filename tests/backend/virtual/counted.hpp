// A kernel's counts at full size, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/compile/pool.hpp"
#include "backend/oracle/reference_values.hpp"
#include "backend/virtual/counts.hpp"
#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {

// A kernel at its task's time shape, and what it is counted with.
class Counted {
 public:
  Counted(const Task& task, const CompiledKernel& kernel)
      : task_(task), kernel_(kernel), programs_(*KernelPrograms::parse(kernel)) {
    BackendOptions options = testing::kept_images();
    options.compile_jobs = 1;
    pool_ = std::move(*CompilePool::open(options));
    oracle_ = std::make_unique<VirtualOracle>(*pool_, device().arch, inputs_, 0);
    plan_ = std::get<ResolvedPlan>(*plan_at(workload()));
  }

  std::vector<ModelInput> at_full_size() {
    auto inputs = count_launches(
        context(), task_, kernel_, programs_, [this](const Workload& at) { return plan_at(at); },
        plan_, workload(), content);
    if (inputs.is_rejected()) FAIL(inputs.rejected().message);
    REQUIRE(inputs);
    return *inputs;
  }

  // Counts every block of the last launch.
  Counts of_all_blocks() {
    auto memory =
        VirtualMemory::make(task_, {.workload = workload(), .content = content}, plan_, inputs_);
    REQUIRE(memory);
    REQUIRE(memory->fill_tensors(inputs_, Poison::quiet_nan));
    LaunchRun how;
    how.checks = how.products = false;
    how.count = true;
    const auto report =
        run_launch(context(), kernel_, programs_, *memory, plan_.launches.back(), how);
    REQUIRE(report);
    REQUIRE(report->faults.empty());
    return report->counts;
  }

 private:
  static constexpr Content content{1, ContentKind::ordinary};
  const DeviceSpec& device() const { return virtual_h200().device(); }
  const Workload& workload() const { return task_->time_shapes.front(); }
  VirtualContext context() { return {device(), inputs_, *oracle_}; }
  Attempt<Resolution> plan_at(const Workload& at) const {
    return resolve(kernel_.source, task_, at, device(), &kernel_);
  }

  TaskRef task_;
  CompiledKernel kernel_;
  KernelPrograms programs_;
  ResolvedPlan plan_;
  VirtualInputs inputs_{1 << 28};
  std::unique_ptr<CompilePool> pool_;
  std::unique_ptr<VirtualOracle> oracle_;
};

// The kernel of a template at these values.
inline CompiledKernel instance(const Task& task, const std::string& name, const Values& values) {
  const auto templates = templates_of(builtin_families(), task);
  const Tunable* tunable = named(templates, task, name);
  REQUIRE(tunable != nullptr);
  const auto source = instantiate(*tunable, task, virtual_h200().device(), values);
  if (!source) FAIL(source.error().message);
  auto kernel = virtual_h200().compile(*source);
  REQUIRE(kernel);
  return *kernel;
}

}  // namespace cupilot
