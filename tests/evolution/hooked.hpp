// The fake device with its answers changed where a test wants them: a device that lies, drifts or
// breaks.
#pragma once

#include <functional>
#include <mutex>

#include "support.hpp"

namespace cupilot::testing {

class Hooked : public Backend {
 public:
  explicit Hooked(std::unique_ptr<Backend> inner)
      : inner_(std::move(inner)), spec_(inner_->device()) {}

  // Each is handed the honest answer and may change it; one at a time.
  std::function<void(CompiledKernel&)> on_compile;
  std::function<void(const CompiledKernel&, TrialReport&)> on_run;
  std::function<void(std::span<const Subject>, std::vector<SubjectReport>&)> on_measure;
  std::function<Attempt<std::vector<LaunchCounts>>(CountDepth)>
      on_count;  // empty: it has no counters
  Provenance kind = Provenance::modelled;
  std::string name;
  bool spans_its_space = true;
  int runs = 0, renewed = 0, anew = 0, compiles_at_once = 1;
  std::vector<Case> cases_run;  // by all runs

  DeviceSpec& spec() { return spec_; }
  const DeviceSpec& device() const override { return spec_; }
  Provenance provenance() const override { return kind; }
  int parallel_compiles() const override { return compiles_at_once; }
  std::string identity() const override { return name.empty() ? inner_->identity() : name; }
  std::vector<Technique> techniques() const override {
    return spans_its_space ? inner_->techniques() : std::vector<Technique>();
  }
  Attempt<CompiledKernel> compile(const KernelSource& source) override {
    auto kernel = inner_->compile(source);
    const std::lock_guard lock(mutex_);
    if (kernel && on_compile) on_compile(*kernel);
    return kernel;
  }
  Attempt<CompiledKernel> compile_anew(const KernelSource& source) override {
    auto kernel = compile(source);
    const std::lock_guard lock(mutex_);
    ++anew;
    return kernel;
  }
  Result<TrialReport> run(const Task& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    auto report = inner_->run(task, kernel, cases);
    const std::lock_guard lock(mutex_);
    ++runs;
    cases_run.insert(cases_run.end(), cases.begin(), cases.end());
    if (report && on_run) on_run(kernel, *report);
    return report;
  }
  Result<std::vector<SubjectReport>> measure(const Task& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    auto reports = inner_->measure(task, workload, contestants, options);
    if (!reports) return reports;
    const std::lock_guard lock(mutex_);
    for (SubjectReport& report : *reports) {
      if (report.measurement) report.measurement->provenance = kind;
    }
    if (on_measure) on_measure(contestants, *reports);
    return reports;
  }
  Attempt<std::vector<LaunchCounts>> count(const Task& task, const CompiledKernel& kernel,
                                           const Workload& workload, CountDepth depth) override {
    const std::lock_guard lock(mutex_);
    return on_count ? on_count(depth) : Backend::count(task, kernel, workload, depth);
  }
  Result<void> renew() override {
    ++renewed;
    return inner_->renew();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Backend> inner_;
  DeviceSpec spec_;
};

// Makes a report say one time in all its samples.
inline void set_time(SubjectReport& report, double us) {
  if (!report.measurement) return;
  report.measurement->time_us = us;
  std::fill(report.measurement->samples_us.begin(), report.measurement->samples_us.end(), us);
}

}  // namespace cupilot::testing
