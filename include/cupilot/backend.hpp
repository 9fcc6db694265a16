// The seam to a device: compile, prove, time. Every function blocks; each says which threads may
// call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/device.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/parts/library_call.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/parts/warp_cycles.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// A participant of an interleaved timing.
struct Subject {
  enum class Kind { candidate, plain, library, contestant };
  Kind kind = Kind::candidate;
  // "candidate", "plain", "cublaslt", "cudnn"; contestant: its name in parts/contestants.hpp
  std::string name{};
  const CompiledKernel* kernel = nullptr;  // candidate only
};

// Names the vendor library's kernel for the task in tables: "cudnn" for a convolution, "cublaslt"
// for others, with its compute mode where the task's precision offers several.
std::string library_name(const Task& task);

struct MeasureOptions {
  int rounds = 5;  // samples of each contestant, in rotating order
  // device time after which rounds stop, never before the third; 0: one launch a sample, too
  double max_seconds = 2;
  bool cold = true;        // L2 scrubbed before each sample
  std::uint64_t seed = 1;  // seeds the content; each timed launch derives its own
};

// One contestant's result: a time or the reason for its absence, and the proofs of its timed
// launches.
struct SubjectReport {
  std::string name{};
  Attempt<Measurement> measurement = Rejected{};
  std::vector<double> ratio{};  // per round: this time / the first contestant's
  std::vector<CaseReport> proofs{};
};

// Hardware counters of one launch.
struct LaunchCounts {
  Counts work{};
  WarpCycles warps{};
};

struct Profile;  // profile.hpp
struct Peaks;    // peaks.hpp

// Hardware counters that Inspector::count reads.
enum class CountDepth {
  few,  // instructions, L2 and DRAM traffic, operations of the task's class: two runs of the kernel
        // on most chips
  all   // all that the chip has, warp stalls included: 14 runs on a GH100
};

// Values of one output of a task's reference in double, element by element, with their condition
// sums.
struct ReferenceValues {
  std::string tensor{};
  std::vector<double> values{}, sums{};
};

// Constant facts about an open device.
struct DeviceTraits {
  DeviceSpec spec{};
  Provenance provenance = Provenance::reported;  // provenance of its times
  // Names the machine that times belong to: "virtual:h200", or device UUID and driver.
  std::string identity{};
  // Compiles and trials that are worth having in flight.
  int parallel_compiles = 1;
  int parallel_trials = 1;
  // Non-empty: the device spans its own strategy space and takes values as KernelSource::constants
  // (fake:FILE).
  std::vector<Technique> techniques{};
  // False: it answers from records or from a function (recorded:DIR, fake:FILE). A search may ask
  // it; it proves nothing of a kernel.
  bool runs = true;
  // Libraries that compute steps of programs there: "cublaslt", "cudnn".
  std::vector<std::string> libraries{};
  // Each lack of this machine and its cost, a sentence each ("no CUPTI: …").
  std::vector<std::string> notices{};
};

// Selects whether a compiler may return a cached image; confirmation asks for a fresh one.
enum class Fresh { no, yes };

class Compiler {
 public:
  virtual ~Compiler() = default;
  // Compiles and gates a source. Any thread. Rejected names the construct that is not allowed.
  virtual Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh = Fresh::no) = 0;
};

// Abilities that a device may lack. Each default answers Error usage or no_device with the next
// step; peaks() answers the datasheet's row.
class Inspector {
 public:
  virtual ~Inspector() = default;
  // Splits the kernel's work and modelled time at one workload by instruction. Any thread. Rejected
  // when the kernel faults at a smaller shape, every access checked, or at the workload itself.
  virtual Attempt<Profile> profile(const TaskRef& task, const CompiledKernel& kernel,
                                   const Workload& workload);
  // Counts the work of each launch of the timed region, in order, by hardware counters, cold
  // L2 before the first; counters that were not read have how == unknown. Any thread. The region
  // runs several times on the same operands. Rejected when the kernel faults.
  virtual Attempt<std::vector<LaunchCounts>> count(const TaskRef& task,
                                                   const CompiledKernel& kernel,
                                                   const Workload& workload, CountDepth depth);
  // Measures the sustained rates of the device within some seconds, during which nothing else
  // should run on it.
  virtual Result<Peaks> peaks();
  // Evaluates the task's reference on the host over given inputs: `tensors` holds the whole storage
  // of each tensor of the task in order, empty for pure outputs. Any thread. For small workloads.
  virtual Result<std::vector<ReferenceValues>> reference(
      const TaskRef& task, const Workload& workload,
      std::span<const std::vector<std::byte>> tensors);
  // Opens a contestant (parts/contestants.hpp) and says what it is: versions and flags. Error
  // no_device names what this device or machine lacks.
  virtual Result<std::string> contestant(const std::string& name);
  // Ends every process and drops every cache, so that later calls start anew; used before
  // confirmation. default: nothing to drop.
  virtual Result<void> renew() { return {}; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceTraits& traits() const = 0;
  // Runs the cases in order until one fails. Any thread; trials on one device are queued. Error
  // only when the machine failed.
  virtual Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                                  std::span<const Case> cases) = 0;
  // Times the subjects in interleaved rounds. Any thread; queued as run() is.
  virtual Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                                     std::span<const Subject> subjects,
                                                     const MeasureOptions& options) = 0;
  // default: one that lacks every ability
  virtual Inspector& inspector();

  const DeviceSpec& device() const { return traits().spec; }
  Provenance provenance() const { return traits().provenance; }
  const std::string& identity() const { return traits().identity; }
};

// A device and the compiler of its kernels: all that a search needs. Four functions are required:
// traits, compile, run, measure.
class Backend : public Compiler, public Device {};

// Passes everything on to another backend. A decorator derives from it and overrides the functions
// that it changes.
class ForwardingDevice : public Backend {
 public:
  explicit ForwardingDevice(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  const DeviceTraits& traits() const override { return inner_->traits(); }
  Attempt<CompiledKernel> compile(const KernelSource& source, Fresh fresh = Fresh::no) override {
    return inner_->compile(source, fresh);
  }
  Result<TrialReport> run(const TaskRef& task, const CompiledKernel& kernel,
                          std::span<const Case> cases) override {
    return inner_->run(task, kernel, cases);
  }
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> subjects,
                                             const MeasureOptions& options) override {
    return inner_->measure(task, workload, subjects, options);
  }
  Inspector& inspector() override { return inner_->inspector(); }

 protected:
  Backend& inner() { return *inner_; }
  const Backend& inner() const { return *inner_; }

 private:
  std::unique_ptr<Backend> inner_;
};

struct BackendOptions {
  // Path of the cupilot-worker program. default: beside the running program, then the installed one
  // of this library. Workers inherit only LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH and
  // CUDA_VISIBLE_DEVICES from this process; no other variable is read.
  std::string worker_path{};
  int compile_jobs = 0;         // 0: one per core
  double compile_seconds = 30;  // deadline of one compile
  // A folder that keeps compiled images for later processes of the same user, compiler and source.
  // default: none.
  std::string compile_cache{};
  double trial_seconds = 20;  // deadline of one request to a device process
  // run untrusted kernels beside other clients of an MPS server, which a fault would end too
  bool allow_mps = false;
  bool refuse_host_reach = false;  // give up where device code may read its process's host memory
  bool counters = true;            // read hardware counters where the driver lets this user
  // A file of measured peaks (peaks.hpp); its row of this device and driver replaces the sustained
  // rates of the datasheet. Empty, missing or without such a row: the datasheet's rates stay.
  std::string peaks_file{};
  // Path of the python3 that has PyTorch, for contestants, and its environment, "NAME=value" each.
  // default: there are no contestants.
  std::string python{};
  std::vector<std::string> python_environment{};
  // Names and paths of cuDNN 9, tried in order, for convolutions: "libcudnn.so.9" is the loader's,
  // else the toolkit's. Each process that opens it takes seconds. default: it is not used.
  std::vector<std::string> cudnn{};
  // Library calls that baselines are taken from, beside those of the built-in families.
  std::vector<LibraryCall> library_calls{};
};

// Opens "auto", "cuda:0", "virtual:h200", "recorded:DIR" or "fake:FILE". Errors: no_device,
// toolchain, usage.
Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options = {});

// One check of the machine, for `doctor`.
struct Finding {
  std::string name{};  // "nvrtc", "libcuda", "landlock" …
  bool present = false;
  std::string detail{};  // version or path
  std::string cost{};    // cost of its absence; empty when present
};
std::vector<Finding> examine_machine(const BackendOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
