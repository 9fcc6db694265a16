#include "endurance/sim_device.hpp"

#include <cmath>
#include <limits>

#include <cupilot/parts/rejection.hpp>

#include "base/hash.hpp"

namespace cupilot::testing {
namespace {

constexpr double deadline_seconds = 20;

struct Share {
  Nature nature;
  double part;
};
constexpr Share shares[] = {{Nature::refused, 0.04},  {Nature::wrong, 0.08},
                            {Nature::faulty, 0.04},   {Nature::hanging, 0.03},
                            {Nature::too_fast, 0.04}, {Nature::no_number, 0.03},
                            {Nature::turncoat, 0.05}};

Result<std::vector<OutputReport>> outputs_of(const Task& task, const Workload& workload,
                                             bool wrong) {
  std::vector<OutputReport> outputs;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out && tensor.role != Role::in_out) continue;
    auto shape = shape_of(task, tensor, workload);
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

Measurement time_of(double us, int rounds) {
  Measurement measurement;
  measurement.provenance = Provenance::modelled;
  measurement.time_us = measurement.interval_low_us = measurement.interval_high_us = us;
  measurement.samples_us.assign(static_cast<std::size_t>(std::max(1, rounds)), us);
  measurement.binding = "simulated";
  return measurement;
}

}  // namespace

SimDevice::SimDevice(SimHost& host, Landscape landscape, std::uint64_t seed,
                     const DeviceTrouble& trouble)
    : host_(host),
      landscape_(std::move(landscape)),
      seed_(seed),
      trouble_(trouble),
      dice_(Rng::of(seed, "device")) {
  DeviceSpec& spec = traits_.spec;
  spec.name = "simulated";
  spec.label = spec.source = "tests/endurance";
  spec.peak_flops.fill(1e18);
  spec.sustained_flops.fill(1e18);
  spec.dram_bytes_per_s = spec.dram_sustained = 1e18;
  traits_.provenance = Provenance::modelled;
  traits_.identity = "simulated";
  traits_.techniques = landscape_.techniques();
  traits_.parallel_compiles = 3;
}

Nature SimDevice::nature_of(const std::string& kernel_hash) const {
  if (!trouble_.dishonest) return Nature::honest;
  double u = Rng::of(seed_, "nature " + kernel_hash).unit();
  for (const Share& share : shares) {
    if (u < share.part) return share.nature;
    u -= share.part;
  }
  return Nature::honest;
}

double SimDevice::true_time_us(const std::string& kernel_hash) const {
  const auto found = times_us_.find(kernel_hash);
  return found == times_us_.end() ? 0 : found->second;
}

std::vector<int> SimDevice::point_of(const KernelSource& source) const {
  if (!source.template_name.empty()) return landscape_.point_of(source.constants);
  Rng rng = Rng::of(seed_, "text " + source.text);
  std::vector<int> point(landscape_.sites());
  for (int& state : point) state = static_cast<int>(rng.below(landscape_.states()));
  return point;
}

Result<void> SimDevice::take_time(double seconds) {
  if (host_.dead()) return Error{ErrorCode::failure, "the machine is off", ""};
  lost_ = lost_ || dice_.chance(trouble_.lost);
  if (lost_)
    return Error{ErrorCode::no_device, "the simulated device fell off the bus",
                 "restart the machine"};
  host_.spend(seconds * (dice_.chance(trouble_.slow) ? 3 : 1));
  return {};
}

Attempt<CompiledKernel> SimDevice::compile(const KernelSource& source, Fresh) {
  if (on_compile && !host_.dead()) on_compile(source.strategy_id);
  if (auto passed = take_time(trouble_.pace_seconds * (0.2 + 1.6 * dice_.unit())); !passed)
    return passed.error();
  ++compiled_[source.strategy_id];
  CompiledKernel kernel;
  kernel.source = source;
  kernel.id = kernel_id(source);
  kernel.arch = kernel.compiler = "simulated";
  std::string text;
  const std::vector<int> point = point_of(source);
  for (const int state : point) text += std::to_string(state) + ",";
  kernel.facts.normalized_hash = sha256_hex(text);
  times_us_[kernel.facts.normalized_hash] = landscape_.time_us(point);
  if (nature_of(kernel.facts.normalized_hash) == Nature::refused)
    return reject("compile.error", "the simulated compiler refused it");
  return kernel;
}

Result<TrialReport> SimDevice::run(const TaskRef& task, const CompiledKernel& kernel,
                                   std::span<const Case> cases) {
  const Nature nature = nature_of(kernel.facts.normalized_hash);
  if (auto passed = take_time(nature == Nature::hanging ? deadline_seconds : 1 + 2 * dice_.unit());
      !passed)
    return passed.error();
  TrialReport report;
  report.confinement = "simulated";
  for (const Case& what : cases) {
    CaseReport& answer = report.cases.emplace_back();
    answer.what = what;
    if (nature == Nature::hanging) answer.faults.push_back({"run.hang", "no end within 20 s", ""});
    if (nature == Nature::faulty)
      answer.faults.push_back({"run.out_of_bounds", "an access outside every buffer", ""});
    if (!answer.faults.empty()) return report;
    auto outputs = outputs_of(task, what.workload,
                              nature == Nature::wrong || betrays(kernel.facts.normalized_hash));
    if (!outputs) return outputs.error();
    answer.outputs = std::move(*outputs);
  }
  return report;
}

Result<std::vector<SubjectReport>> SimDevice::measure(const TaskRef& task, const Workload& workload,
                                                      std::span<const Subject> contestants,
                                                      const MeasureOptions& options) {
  if (auto passed = take_time(0.5 + dice_.unit()); !passed) return passed.error();
  std::vector<SubjectReport> reports;
  for (const Subject& contestant : contestants) {
    SubjectReport& report = reports.emplace_back();
    report.name = contestant.name;
    if (contestant.kind == Subject::Kind::library) {
      report.measurement = reject("measure.failed", "no library");
      continue;
    }
    const bool candidate = contestant.kind == Subject::Kind::candidate;
    const Nature nature =
        candidate ? nature_of(contestant.kernel->facts.normalized_hash) : Nature::honest;
    double us = candidate ? true_time_us(contestant.kernel->facts.normalized_hash)
                          : landscape_.spec().best_us * std::exp2(landscape_.spec().octaves);
    if (nature == Nature::too_fast) us = 0.01;
    if (nature == Nature::no_number) us = std::numeric_limits<double>::quiet_NaN();
    report.measurement = time_of(us, options.rounds);
    report.ratio.assign(static_cast<std::size_t>(std::max(1, options.rounds)), 1.0);
    auto outputs = outputs_of(task, workload, false);
    if (!outputs) return outputs.error();
    report.proofs.push_back({{workload, {}, 0, false}, false, std::move(*outputs), {}, {}, 0});
  }
  return reports;
}

Result<void> SimDevice::renew() {
  renewed_ = true;
  return take_time(2);
}

void SimDevice::heal() {
  lost_ = false;
  renewed_ = false;
}

}  // namespace cupilot::testing
