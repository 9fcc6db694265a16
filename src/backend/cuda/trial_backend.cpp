// The device cuda:N behind the Backend seam, in worker processes, and a context of the host's own,
// in this one.
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <optional>

#include <fmt/core.h>

#include <cupilot/family.hpp>
#include <cupilot/in_process.hpp>
#include <cupilot/parts/peaks.hpp>
#include <cupilot/parts/profile.hpp>
#include <cupilot/parts/rejection.hpp>

#include "backend/compile/checked_compile.hpp"
#include "backend/compile/pool.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/in_process.hpp"
#include "backend/cuda/peaks.hpp"
#include "backend/cuda/profile.hpp"
#include "backend/cuda/spec.hpp"
#include "backend/cuda/trials.hpp"
#include "backend/devices.hpp"
#include "backend/oracle/reference_values.hpp"
#include "backend/worker/mps.hpp"
#include "base/made_ahead.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"
#include "kernel/library_step.hpp"

namespace cupilot {
namespace {

std::string identity_of(const DeviceHello& hello) {
  return fmt::format("{} driver {}{}", hello.uuid, hello.driver_version,
                     hello.sharing == Sharing::own ? " in the host's context" : "");
}

// Returns the calls of the built-in families, then of the host's.
std::vector<LibraryCall> library_calls_in(const BackendOptions& options) {
  std::vector<LibraryCall> calls = library_calls_of(builtin_families());
  calls.insert(calls.end(), options.library_calls.begin(), options.library_calls.end());
  return calls;
}

// Returns names of the libraries whose steps may be tried: whether there is a cuBLASLt shows at the
// first.
std::vector<std::string> libraries_of(const DeviceHello& hello) {
  std::vector<std::string> names{std::string(cublaslt_library)};
  if (!hello.cudnn.empty()) names.emplace_back(cudnn_library);
  return names;
}

class CudaBackend final : public Backend, public Inspector {
 public:
  // `arm` gives the device its judge's kernels; called before its first use.
  CudaBackend(std::unique_ptr<CompilePool> pool, std::unique_ptr<TrialDevice> device,
              std::function<Result<void>()> arm, DeviceSpec spec, std::vector<std::string> notices,
              const BackendOptions& options)
      : pool_(std::move(pool)),
        device_(std::move(device)),
        arm_(std::move(arm)),
        traits_{.spec = std::move(spec),
                .provenance = Provenance::measured,
                .identity = identity_of(device_->hello()),
                .parallel_compiles = pool_->jobs(),
                .libraries = libraries_of(device_->hello()),
                .notices = std::move(notices)},
        programs_(*pool_, traits_.spec.arch),
        spot_(*pool_, traits_.spec.arch),
        trials_(*device_, programs_, spot_, traits_.spec, options.trial_seconds,
                library_calls_in(options)),
        counters_(options.counters),
        inputs_(0),
        oracle_(*pool_, traits_.spec.arch, inputs_, 0) {
    virtual_options_.worker_path = options.worker_path;
    virtual_options_.compile_jobs = 1;  // it compiles references only
  }

  const DeviceTraits& traits() const override { return traits_; }
  Inspector& inspector() override { return *this; }
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh) override {
    expect_counting();
    return compile_and_check(*pool_, source, traits_.spec.arch,
                             {.anew = fresh == Fresh::yes, .assembles = true});
  }

  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    TrialReport report;
    if (auto can = trials_.can_judge(task); !can) return can.error();
    if (kernel.cubin.empty())
      return Error{ErrorCode::failure, "the kernel has PTX only; a device runs assembled kernels",
                   "compile it with this backend"};
    trials_.foresee(task, cases);
    const auto lock = hold();
    if (!lock) return lock.error();
    report.confinement = device_->hello().confinement;
    auto proved = trials_.prove(task, kernel, cases);
    if (!proved) return proved.error();
    report.cases = std::move(*proved);
    return report;
  }

  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options) override {
    if (auto can = trials_.can_judge(task); !can) return can.error();
    timed_ = true;
    trials_.foresee(task, CudaTrials::cases_of(workload, options));
    const auto lock = hold();
    if (!lock) return lock.error();
    auto reports = trials_.measure(task, workload, contestants, options);
    if (!reports && !stop_flags().cancelled())
      reports = trials_.measure(task, workload, contestants, options);
    return reports;
  }

  Attempt<std::vector<LaunchCounts>> count(const TaskRef& task, const CompiledKernel& kernel,
                                           const Workload& workload, CountDepth depth) override {
    auto counted = count_run(task, kernel, workload, depth);
    if (!counted) return counted.failure();
    return std::move(counted->launches);
  }

  Attempt<Profile> profile(const TaskRef& task, const CompiledKernel& kernel,
                           const Workload& workload) override {
    if (!virtual_) {
      auto opened = open_virtual(traits_.spec.name, virtual_options_);
      if (!opened)
        return std::move(opened.error())
            .while_doing("opening the virtual device that knows source lines");
      virtual_ = std::move(*opened);
    }
    auto profile = virtual_->inspector().profile(task, kernel, workload);
    if (profile.is_error() || profile.is_rejected()) return profile;
    profile->device = identity();
    add_counters(*profile, count_run(task, kernel, workload, CountDepth::all));
    return profile;
  }

  Result<Peaks> peaks() override {
    const auto lock = hold();
    if (!lock) return lock.error();
    auto peaks = measure_peaks(*device_, *pool_, traits_.spec, trials_);
    if (peaks) peaks->identity = identity();
    return peaks;
  }

  Result<std::vector<ReferenceValues>> reference(
      const TaskRef& task, const Workload& workload,
      std::span<const std::vector<std::byte>> tensors) override {
    return oracle_.over(task, workload, tensors);
  }

  Result<std::string> contestant(const std::string& name) override {
    const auto lock = hold();
    if (!lock) return lock.error();
    return device_->contestant(name);
  }

  Result<void> renew() override {
    const auto lock = hold();
    if (!lock) return lock.error();
    return device_->renew();
  }

 private:
  Attempt<CountedRun> count_run(const TaskRef& task, const CompiledKernel& kernel,
                                const Workload& workload, CountDepth depth) {
    if (!counters_)
      return Error{ErrorCode::usage, "hardware counters are switched off",
                   "leave out --no-counters or BackendOptions::counters"};
    if (kernel.cubin.empty())
      return Error{ErrorCode::failure, "the kernel has PTX only", "compile it with this backend"};
    const auto lock = hold();
    if (!lock) return lock.error();
    return trials_.count(task, kernel, workload, depth);
  }
  // Starts the counting process while kernels compile: compiling after a timing means a search,
  // which will count.
  void expect_counting() {
    if (!counters_ || !timed_ || counting_expected_) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && !counting_expected_.exchange(true)) device_->expect_counting();
  }
  // The device, with the judge's kernels in it, for the caller alone.
  Result<std::unique_lock<std::mutex>> hold() {
    const Phase phase(waiting_for_device, PhaseCpu::of_phase_around);
    std::unique_lock lock(mutex_);
    if (!armed_) {
      if (auto armed = arm_(); !armed) return armed.error();
      armed_ = true;
    }
    return lock;
  }

  std::mutex mutex_;
  std::unique_ptr<CompilePool> pool_;
  std::unique_ptr<TrialDevice> device_;
  std::function<Result<void>()> arm_;
  bool armed_ = false;
  DeviceTraits traits_;
  CudaPrograms programs_;
  SpotCheck spot_;
  CudaTrials trials_;
  bool counters_ = true;
  std::atomic<bool> timed_ = false, counting_expected_ = false;
  // Knows instructions and source lines, which counters do not; opened when a profile is asked for.
  std::unique_ptr<Backend> virtual_;
  BackendOptions virtual_options_;
  // References over given inputs are evaluated on the host.
  VirtualInputs inputs_;
  VirtualOracle oracle_;
};

std::vector<std::string> notices_of(const DeviceHello& hello, const SandboxState& sandbox,
                                    const BackendOptions& options) {
  std::vector<std::string> notices;
  if (hello.sharing == Sharing::ipc) {
    notices.push_back("no virtual memory handles (" + hello.sharing_note +
                      "): inputs are compared after each run instead of being read-only, and "
                      "buffers have no unmapped neighbours");
  }
  if (hello.pageable_access != 0)
    notices.emplace_back(
        "this device may read its process's host memory: kernels are less confined");
  if (hello.run_time_limit != 0)
    notices.emplace_back("the driver ends kernels after a few seconds on this device");
  if (hello.sharing == Sharing::own) {
    notices.emplace_back(
        "kernels run in this process, unconfined: a fault ends the context, a kernel that never "
        "ends is waited for, inputs are "
        "compared after each run instead of being read-only, and reads beyond a buffer are seen by "
        "the virtual device alone");
  } else {
    notices.push_back("judge and runner are confined by: " + hello.confinement);
  }
  for (std::string& lack : lacks_of(sandbox)) notices.push_back(std::move(lack));
  if (!options.counters)
    notices.emplace_back(
        "no hardware counters are read, as was asked: rooflines use counts of the virtual device");
  return notices;
}

// Returns the reason for which untrusted kernels are not run on this device, if there is one.
std::optional<Error> unfit(const DeviceHello& hello, const BackendOptions& options) {
  if (const std::string sign = mps_sign(); !sign.empty() && !options.allow_mps) {
    return Error{ErrorCode::failure,
                 "an MPS server shares this card (" + sign +
                     "): a fault of one kernel would end its other clients",
                 "end the server, or set BackendOptions::allow_mps"};
  }
  if (hello.pageable_access != 0 && options.refuse_host_reach) {
    return Error{
        ErrorCode::failure, "kernels on this device may read their process's host memory",
        "load the driver module with its HMM switch off, or leave refuse_host_reach unset"};
  }
  return std::nullopt;
}

// A healthy device as a backend. Its judge's kernels compile meanwhile: the first use waits for
// them.
template <class Device>
Result<std::unique_ptr<Backend>> assemble(std::unique_ptr<CompilePool> pool,
                                          std::unique_ptr<Device> device, const std::string& what,
                                          const BackendOptions& options) {
  DeviceSpec spec = spec_of(device->hello());
  if (!options.peaks_file.empty()) {
    const auto peaks = load_peaks(options.peaks_file, identity_of(device->hello()));
    if (!peaks) return peaks.error();
    if (*peaks) spec = with_peaks(std::move(spec), **peaks, options.peaks_file);
  }
  // The machine may have been too busy where this fails: the first use compiles again.
  const auto judging = std::make_shared<const MadeAhead<std::vector<std::uint8_t>>>(
      [&pool = *pool, arch = spec.arch] { return compile_judging(pool, arch); });
  auto arm = [judging, what, &held = *device]() -> Result<void> {
    Result<std::vector<std::uint8_t>> image = judging->get();
    if (!image) return std::move(image.error()).while_doing("opening " + what);
    return held.judge_by(std::move(*image));
  };
  auto trusted = compile_trusted(*pool, spec.arch);
  if (!trusted) return std::move(trusted.error()).while_doing("opening " + what);
  if (auto healthy = device->trust(std::move(*trusted)); !healthy) return healthy.error();
  auto notices = notices_of(device->hello(), pool->sandbox(), options);
  return std::unique_ptr<Backend>(std::make_unique<CudaBackend>(std::move(pool), std::move(device),
                                                                std::move(arm), std::move(spec),
                                                                std::move(notices), options));
}

}  // namespace

Result<std::unique_ptr<Backend>> open_cuda(int index, const BackendOptions& options) {
  auto opening = std::async(std::launch::async, [&] { return CompilePool::open(options); });
  auto device = CudaDevice::open(index, options);
  auto pool = opening.get();
  if (!device) return device.error();
  if (!pool) return pool.error();
  if (auto error = unfit((*device)->hello(), options)) return std::move(*error);
  return assemble(std::move(*pool), std::move(*device), "cuda:" + std::to_string(index), options);
}

Result<std::unique_ptr<Backend>> open_in_process(void* context, void* stream,
                                                 const BackendOptions& options) {
  auto device = InProcessDevice::open(static_cast<CUcontext>(context),
                                      static_cast<CUstream>(stream), options);
  if (!device) return device.error();
  auto pool = CompilePool::open(options);
  if (!pool) return pool.error();
  return assemble(std::move(*pool), std::move(*device), "the host's context", options);
}

}  // namespace cupilot
