#include <cupilot/parts/host.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include <cupilot/parts/rejection.hpp>

#include "backend/devices.hpp"
#include "backend/replayed/landscape.hpp"
#include "base/hash.hpp"

namespace cupilot {
namespace {

// Answers from a landscape in microseconds of its own clock; proves nothing, measures nothing, is
// deterministic.
class FakeBackend : public Backend {
 public:
  FakeBackend(Landscape landscape, std::string identity) : landscape_(std::move(landscape)) {
    DeviceSpec& spec = traits_.spec;
    spec.name = "fake";
    spec.label = "landscape with a known optimum";
    spec.source = "docs/formats/landscape.md";
    // So fast that no landscape lies below its floor.
    spec.peak_flops.fill(1e18);
    spec.sustained_flops.fill(1e18);
    spec.dram_bytes_per_s = spec.dram_sustained = 1e18;
    traits_.provenance = Provenance::modelled;
    traits_.identity = std::move(identity);
    traits_.techniques = landscape_.techniques();
    traits_.runs = false;
    traits_.parallel_compiles = traits_.parallel_trials = 4;
  }

  const DeviceTraits& traits() const override { return traits_; }

  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh) override {
    const std::vector<int> point = landscape_.point_of(source.constants);
    if (const int delay = landscape_.delay_us(point); delay > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
    CompiledKernel kernel;
    kernel.source = source;
    kernel.id = kernel_id(source);
    kernel.arch = "fake";
    kernel.compiler = "landscape 1";
    std::string text;
    for (const int state : point) text += std::to_string(state) + ",";
    kernel.facts.normalized_hash = sha256_hex(text);
    return kernel;
  }

  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    const bool wrong = landscape_.rejected(landscape_.point_of(kernel.source.constants));
    TrialReport report;
    for (const Case& what : cases) {
      auto outputs = outputs_of(task, what, wrong);
      if (!outputs) return outputs.error();
      CaseReport& answer = report.cases.emplace_back();
      answer.what = what;
      answer.outputs = std::move(*outputs);
    }
    return report;
  }

  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    std::vector<SubjectReport> reports;
    double first_us = 0;
    for (const Subject& contestant : contestants) {
      SubjectReport& report = reports.emplace_back();
      report.name = contestant.name;
      if (contestant.kind == Subject::Kind::library ||
          contestant.kind == Subject::Kind::contestant) {
        report.measurement =
            reject("measure.failed", "a landscape has no library and no contestants");
        continue;
      }
      const double us =
          contestant.kind == Subject::Kind::plain
              ? landscape_.spec().best_us * std::exp2(landscape_.spec().octaves)
              : landscape_.time_us(landscape_.point_of(contestant.kernel->source.constants));
      if (first_us == 0) first_us = us;
      Measurement measurement;
      measurement.provenance = Provenance::modelled;
      measurement.time_us = measurement.interval_low_us = measurement.interval_high_us = us;
      measurement.samples_us.assign(static_cast<std::size_t>(std::max(1, options.rounds)), us);
      measurement.binding = "landscape";
      report.measurement = std::move(measurement);
      report.ratio.assign(static_cast<std::size_t>(std::max(1, options.rounds)), us / first_us);
      auto outputs = outputs_of(task, {workload, {}, 0, false}, false);
      if (!outputs) return outputs.error();
      report.proofs.push_back({.what = {workload, {}, 0, false}, .outputs = std::move(*outputs)});
    }
    return reports;
  }

 private:
  static Result<std::vector<OutputReport>> outputs_of(const Task& task, const Case& what,
                                                      bool wrong) {
    std::vector<OutputReport> outputs;
    for (const Tensor& tensor : task.tensors) {
      if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
      auto shape = shape_of(task, tensor, what.workload);
      if (!shape) return shape.error();
      OutputReport& output = outputs.emplace_back();
      output.tensor = tensor.name;
      output.elements = output.compared = shape->elements;
      output.failed = wrong ? 1 : 0;
      output.worst_ratio = wrong ? 2 : 0;
      output.worst_index = 0;
      output.got = wrong ? 2 : 0;
      output.bound = 1;
    }
    return outputs;
  }

  Landscape landscape_;
  DeviceTraits traits_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_fake(const std::string& file, const BackendOptions&) {
  auto text = real_host().read_file(file);
  if (!text) {
    return Error{ErrorCode::usage, "fake:" + file + ": " + text.error().message,
                 "docs/formats/landscape.md describes the file"};
  }
  auto spec = landscape_from_json(*text, file);
  if (!spec) return spec.error();
  auto landscape = Landscape::make(*spec);
  if (!landscape) return std::move(landscape.error()).while_doing(file);
  return std::unique_ptr<Backend>(std::make_unique<FakeBackend>(
      std::move(*landscape), "fake:" + sha256_hex(*text).substr(0, 16)));
}

}  // namespace cupilot
