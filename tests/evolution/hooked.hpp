// The fake device with its answers changed where a test wants them: a device that lies, drifts or
// breaks.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "support.hpp"

namespace cupilot::testing {

class Hooked : public Backend, public Inspector {
 public:
  explicit Hooked(std::unique_ptr<Backend> inner)
      : inner_(std::move(inner)), traits_(inner_->traits()) {
    traits_.parallel_compiles = traits_.parallel_trials = 1;
    traits_.runs = true;
  }

  // Each is handed the honest answer and may change it; one at a time.
  std::function<void(CompiledKernel&)> on_compile;
  std::function<void(const CompiledKernel&, TrialReport&)> on_run;
  std::function<void(std::span<const Subject>, std::vector<SubjectReport>&)> on_measure;
  std::function<Attempt<std::vector<LaunchCounts>>(CountDepth)>
      on_count;                    // empty: it has no counters
  std::optional<Error> run_error;  // of every run
  int runs = 0, renewed = 0, anew = 0;
  std::vector<Case> cases_run;  // by all runs

  // Tests may change them before a run begins.
  DeviceTraits& own() { return traits_; }
  const DeviceTraits& traits() const override { return traits_; }
  Inspector& inspector() override { return *this; }
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh = Fresh::no) override {
    auto kernel = inner_->compile(source, fresh);
    const std::lock_guard lock(mutex_);
    if (kernel && on_compile) on_compile(*kernel);
    if (fresh == Fresh::yes) ++anew;
    return kernel;
  }
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    auto report = inner_->run(task, kernel, cases);
    const std::lock_guard lock(mutex_);
    ++runs;
    cases_run.insert(cases_run.end(), cases.begin(), cases.end());
    if (report && on_run) on_run(kernel, *report);
    if (run_error) return *run_error;
    return report;
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    auto reports = inner_->measure(task, workload, contestants, options);
    if (!reports) return reports;
    const std::lock_guard lock(mutex_);
    for (SubjectReport& report : *reports) {
      if (report.measurement) report.measurement->provenance = traits_.provenance;
    }
    if (on_measure) on_measure(contestants, *reports);
    return reports;
  }
  Attempt<std::vector<LaunchCounts>> count(const TaskRef& task, const CompiledKernel& kernel,
                                           const Workload& workload, CountDepth depth) override {
    const std::lock_guard lock(mutex_);
    return on_count ? on_count(depth) : Inspector::count(task, kernel, workload, depth);
  }
  Result<void> renew() override {
    ++renewed;
    return inner_->inspector().renew();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Backend> inner_;
  DeviceTraits traits_;
};

// Makes a report say one time in all its samples.
inline void set_time(SubjectReport& report, double us) {
  if (!report.measurement) return;
  report.measurement->time_us = us;
  std::fill(report.measurement->samples_us.begin(), report.measurement->samples_us.end(), us);
}

}  // namespace cupilot::testing
