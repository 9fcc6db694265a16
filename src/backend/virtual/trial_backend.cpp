// The virtual device as a backend.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include <cupilot/parts/peaks.hpp>

#include "backend/compile/checked_compile.hpp"
#include "backend/devices.hpp"
#include "backend/observed.hpp"
#include "backend/virtual/measure.hpp"
#include "backend/virtual/plain_run.hpp"
#include "backend/virtual/profile.hpp"
#include "backend/virtual/run.hpp"
#include "base/phases.hpp"

namespace cupilot {
namespace {

constexpr std::int64_t input_cache_bytes = 1ll << 30, oracle_cache_bytes = 512ll << 20,
                       given_cache_bytes = 64ll << 20;

class VirtualBackend final : public Backend, public Inspector, public ObservingDevice {
 public:
  VirtualBackend(DeviceSpec device, std::unique_ptr<CompilePool> pool, const OwnRules* own)
      : pool_(std::move(pool)),
        whose_(own != nullptr ? ptx::Whose::own : ptx::Whose::candidate),
        leave_others_out_(own != nullptr && own->leave_others_out),
        traits_(traits_of(std::move(device), *pool_)),
        inputs_(input_cache_bytes),
        oracle_(*pool_, traits_.spec.arch, inputs_, oracle_cache_bytes),
        measurer_(context(), *pool_) {}

  const DeviceTraits& traits() const override { return traits_; }
  Inspector& inspector() override { return *this; }

  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh) override {
    return compile_and_check(
        *pool_, source, traits_.spec.arch,
        {.anew = fresh == Fresh::yes, .whose = whose_, .leave_others_out = leave_others_out_});
  }

  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    const DeviceWork interpreting;
    TrialReport report;
    report.confinement = "interpreted: the kernel never runs on a device";
    Attempt<KernelPrograms> programs = KernelPrograms::parse(kernel);
    if (programs.is_error()) return programs.error();
    for (const Case& what : cases) {
      if (programs.is_rejected()) {
        const Rejected& refused = programs.rejected();
        report.cases.push_back({});
        report.cases.back().what = what;
        report.cases.back().faults.push_back({refused.code, refused.message, refused.where});
        break;
      }
      Result<CaseReport> ran = run_case(context(), task, kernel, *programs, what);
      if (!ran) return std::move(ran.error()).while_doing("running on " + identity());
      report.cases.push_back(std::move(*ran));
      if (!report.cases.back().faults.empty()) break;
    }
    if (programs) report.coverage = programs->coverage();
    return report;
  }

  Result<CaseReport> observe(const TaskRef& task, const CompiledKernel& kernel, const Case& what,
                             std::vector<std::vector<std::byte>>& left) override {
    const DeviceWork interpreting;
    Attempt<KernelPrograms> programs = KernelPrograms::parse(kernel);
    if (programs.is_error()) return programs.error();
    if (programs.is_rejected()) {
      const Rejected& refused = programs.rejected();
      CaseReport report;
      report.what = what;
      report.faults.push_back({refused.code, refused.message, refused.where});
      return report;
    }
    return run_case(context(), task, kernel, *programs, what, &left);
  }

  Result<std::vector<TensorBytes>> honest(const TaskRef& task, const Workload& workload,
                                          std::span<const TensorBytes> tensors,
                                          HonestOrder order) override {
    const auto make = [&] { return run_honest(task, workload, tensors, order); };
    const auto weigh = [](const std::vector<TensorBytes>& left) {
      return std::accumulate(left.begin(), left.end(), std::int64_t{0}, [](auto sum, auto& one) {
        return sum + static_cast<std::int64_t>(one.size());
      });
    };
    const auto kept = honest_.get(
        fmt::format("{}:{}", static_cast<int>(order), given_key(task.id(), workload, tensors)),
        make, weigh);
    if (!kept) return kept.error();
    std::vector<TensorBytes> left = **kept;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (is_as_given(*task, tensors, i)) left[i] = tensors[i];
    }
    return left;
  }

  Result<CaseReport> judge(const TaskRef& task, const Case& what,
                           std::span<const TensorBytes> left) override {
    const DeviceWork interpreting;
    return judge_left(context(), task, what, left);
  }

  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    const DeviceWork interpreting;
    return measurer_.measure(task, workload, contestants, options);
  }

  Attempt<Profile> profile(const TaskRef& task, const CompiledKernel& kernel,
                           const Workload& workload) override {
    const DeviceWork interpreting;
    return profile_kernel(context(), task, kernel, workload);
  }

  Result<std::vector<ReferenceValues>> reference(const TaskRef& task, const Workload& workload,
                                                 std::span<const TensorBytes> tensors) override {
    const DeviceWork interpreting;
    const auto make = [&] { return oracle_.over(task, workload, tensors); };
    const auto weigh = [](const std::vector<ReferenceValues>& all) {
      return std::accumulate(all.begin(), all.end(), std::int64_t{0}, [](auto sum, auto& one) {
        return sum + static_cast<std::int64_t>(16 * one.values.size());
      });
    };
    const auto kept = references_.get(given_key(task.id(), workload, tensors), make, weigh);
    if (!kept) return kept.error();
    return **kept;
  }

  Result<void> renew() override {
    inputs_.clear();
    oracle_.clear();
    measurer_.clear();
    honest_.clear();
    references_.clear();
    return {};
  }
  Result<Peaks> peaks() override { return datasheet_peaks(device(), identity()); }

 private:
  static DeviceTraits traits_of(DeviceSpec spec, const CompilePool& pool) {
    DeviceTraits traits;
    traits.identity = "virtual:" + spec.name;
    traits.spec = std::move(spec);
    traits.provenance = Provenance::modelled;
    traits.parallel_compiles = pool.jobs();
    traits.parallel_trials = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    traits.notices = lacks_of(pool.sandbox());
    traits.notices.insert(traits.notices.begin(),
                          fmt::format("{} is interpreted: its times are modelled, never "
                                      "measured; tensor-core rounding and approximate "
                                      "functions follow a model of the chip",
                                      traits.identity));
    return traits;
  }
  VirtualContext context() { return {traits_.spec, inputs_, oracle_}; }

  // True for what an execution leaves as it was given.
  static bool is_as_given(const Task& task, std::span<const TensorBytes> tensors, std::size_t i) {
    const Role role = task.tensors[i].role;
    return (role == Role::in || role == Role::constant) && i < tensors.size() &&
           !tensors[i].empty();
  }

  // Leaves tensors empty that are as given.
  Result<std::vector<TensorBytes>> run_honest(const TaskRef& task, const Workload& workload,
                                              std::span<const TensorBytes> tensors,
                                              HonestOrder order) {
    const DeviceWork interpreting;
    constexpr std::array builds = {ReferenceBuild::plain, ReferenceBuild::in_turn,
                                   ReferenceBuild::by_eights};
    Case what;
    what.workload = workload;
    auto ran =
        PlainRun::over(context(), task, what, builds[static_cast<std::size_t>(order)], tensors);
    if (!ran) return std::move(ran.error()).while_doing("running on " + identity());
    std::vector<TensorBytes> left;
    if ((*ran)->memory() != nullptr) left = left_in(task, *(*ran)->memory());
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (is_as_given(*task, tensors, i)) left[i] = {};
    }
    return left;
  }

  std::unique_ptr<CompilePool> pool_;
  ptx::Whose whose_;
  bool leave_others_out_;
  DeviceTraits traits_;
  VirtualInputs inputs_;
  VirtualOracle oracle_;
  VirtualMeasurer measurer_;
  // Over given storages: what honest executions wrote, and the reference's values.
  ByteCache<std::vector<TensorBytes>> honest_{given_cache_bytes};
  ByteCache<std::vector<ReferenceValues>> references_{given_cache_bytes};
};

}  // namespace

Result<std::unique_ptr<Backend>> open_virtual(const std::string& chip_name,
                                              const BackendOptions& options, const OwnRules* own) {
  Result<DeviceSpec> device = chip(chip_name);
  if (!device) return device.error();
  auto pool = CompilePool::open(options);
  if (!pool) return pool.error();
  return std::unique_ptr<Backend>(
      std::make_unique<VirtualBackend>(std::move(*device), std::move(*pool), own));
}

}  // namespace cupilot
