// The seam to a device: compile, prove, time. Thread-safe as said at each function; blocking.
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
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/parts/trial.hpp>
#include <cupilot/parts/warp_cycles.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// Who takes part in an interleaved timing.
struct Subject {
  enum class Kind { candidate, plain, library };
  Kind kind = Kind::candidate;
  std::string name{};                      // "candidate", "plain", "cublaslt"
  const CompiledKernel* kernel = nullptr;  // candidate only
};

// What the library's kernel for the task is called in tables: "cublaslt", and which of its ways
// where precision offers several.
std::string library_name(const Task& task);

struct MeasureOptions {
  int rounds = 5;  // visits of each contestant, in rotating order
  double max_seconds =
      2;  // device time after which rounds stop (never below 3); 0: one launch a visit, too
  bool cold = true;        // L2 scrubbed before each sample
  std::uint64_t seed = 1;  // of the content; each timed launch gets its own
};

// One contestant's result: a time, or why there is none, and the proofs of its timed launches.
struct SubjectReport {
  std::string name{};
  Attempt<Measurement> measurement = Rejected{};
  std::vector<double> ratio{};  // per round: this time / the first contestant's
  std::vector<CaseReport> proofs{};
};

// What the counters said of one launch.
struct LaunchCounts {
  Counts work{};
  WarpCycles warps{};
};

struct Profile;  // profile.hpp
struct Peaks;    // peaks.hpp

// Which hardware counters Backend::count reads.
enum class CountDepth {
  few,  // instructions, L2 and DRAM traffic, operations of the task's class: two runs of the kernel
        // on most chips
  all   // all that the chip has, what warps wait for among it: 14 runs on a GH100
};

// Values of one output of a task's reference in double, element by element, with their condition
// sums.
struct ReferenceValues {
  std::string tensor{};
  std::vector<double> values{}, sums{};
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceSpec& device() const = 0;
  virtual Provenance provenance() const = 0;
  // Identity of the machine that times belong to: "virtual:h200", or device UUID and driver.
  virtual std::string identity() const = 0;
  // Any thread. Gate included: a Rejected says what the source or its PTX may not do.
  virtual Attempt<CompiledKernel> compile(const KernelSource& source) = 0;
  // The same by the compiler itself, whatever was kept: for a kernel that is to be confirmed. Who
  // wraps a backend forwards both.
  virtual Attempt<CompiledKernel> compile_anew(const KernelSource& source) {
    return compile(source);
  }
  // Any thread; trials on one device are queued. Error only when the machine failed.
  virtual Result<TrialReport> run(const Task& task, const CompiledKernel& kernel,
                                  std::span<const Case> cases) = 0;
  virtual Result<std::vector<SubjectReport>> measure(const Task& task, const Workload& workload,
                                                     std::span<const Subject> contestants,
                                                     const MeasureOptions& options) = 0;
  // Any thread. Where the kernel's work and modelled time go at one workload, instruction by
  // instruction. Error usage where the device cannot tell; Rejected when the kernel faults at a
  // smaller shape, every access checked, or at the workload itself.
  virtual Attempt<Profile> profile(const Task& task, const CompiledKernel& kernel,
                                   const Workload& workload);
  // Any thread. The work of each launch of the timed region, in order, by hardware counters: rung
  // "counters", cold L2 before the first; counters that were not read have how == unknown. The
  // region is run several times on the same operands. Error: there are no counters, or this user
  // may not read them; the message says which. Rejected when the kernel faults.
  virtual Attempt<std::vector<LaunchCounts>> count(const Task& task, const CompiledKernel& kernel,
                                                   const Workload& workload, CountDepth depth);
  // What this device sustains, measured in some seconds that it should have for itself; where
  // nothing is measured, the row of the datasheet, marked so.
  virtual Result<Peaks> peaks();
  // Any thread. The task's reference over given inputs: `tensors` holds the whole storage of each
  // tensor of the task in order, empty for pure outputs. Evaluated on the host; meant for small
  // workloads.
  virtual Result<std::vector<ReferenceValues>> reference(
      const Task& task, const Workload& workload, std::span<const std::vector<std::byte>> tensors);
  // Throws away every process and cache, so that what follows is had anew. Used before
  // confirmation.
  virtual Result<void> renew() { return {}; }
  // How many compiles and how many trials are worth having in flight.
  virtual int parallel_compiles() const { return 1; }
  virtual int parallel_trials() const { return 1; }
  // Not empty: this device spans its own strategy space and takes values as KernelSource::constants
  // (fake:FILE).
  virtual std::vector<Technique> techniques() const { return {}; }
  // False: it answers what was recorded or made up (recorded:DIR, fake:FILE). A search may ask it;
  // it proves nothing of a kernel.
  virtual bool runs() const { return true; }
  // What this machine lacks and what that costs, one sentence each ("no CUPTI: …").
  virtual std::vector<std::string> notices() const { return {}; }
};

struct BackendOptions {
  // The cupilot-worker program. Empty: beside the running program, then where it is installed with
  // this library. Workers start with an empty environment but for what the loader and CUDA read:
  // LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH, CUDA_VISIBLE_DEVICES as this process has them; nothing
  // else of the environment is looked at.
  std::string worker_path{};
  int compile_jobs = 0;         // 0: one a core
  double compile_seconds = 30;  // deadline of one compile
  // A folder that keeps compiled images from one process to the next, for the same user, compiler
  // and source. Empty: none does.
  std::string compile_cache{};
  double trial_seconds = 20;  // deadline of one request to a device process
  bool allow_mps = false;     // run untrusted kernels beside other clients of an MPS server, whom a
                              // fault would end too
  bool refuse_host_reach = false;  // give up where device code may read its process's host memory
  bool counters = true;            // read hardware counters where the driver lets this user
  // A file of measured peaks (peaks.hpp): what it says of this device and driver replaces the
  // sustained rates of the datasheet. Empty, missing or without this device: the datasheet stands.
  std::string peaks_file{};
};

// "auto", "cuda:0", "virtual:h200", "recorded:DIR", "fake:FILE". Error codes no_device, toolchain,
// usage.
Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options = {});

// What this machine has and what each lack costs, for `doctor`.
struct Finding {
  std::string name{};  // "nvrtc", "libcuda", "landlock" …
  bool present = false;
  std::string detail{};  // version or path
  std::string cost{};    // what its absence costs; empty when present
};
std::vector<Finding> examine_machine(const BackendOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
