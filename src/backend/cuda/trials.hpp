// Proving and timing on one CUDA device: which bytes lie where, what is asked of judge and runner,
// what the answers mean.
//
// cuda_place.cpp lays out, cuda_trials.cpp prepares, runs and checks, cuda_prove.cpp goes through a
// proof's cases, cuda_repeat.cpp runs again, cuda_measure.cpp times.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "backend/cuda/orders.hpp"
#include "backend/cuda/programs.hpp"
#include "backend/cuda/spot.hpp"
#include "backend/cuda/trial_device.hpp"
#include "backend/wire/frame.hpp"
#include "kernel/library_step.hpp"

namespace cupilot {

// The places of a task's tensors in one case, and their shapes as numbers.
struct TaskPlacement {
  std::vector<Region> tensors;
  std::vector<FillParams> layouts;
  Fence fence = Fence::end;
};

// A kernel at one workload, ready to be ordered.
struct PlacedKernel {
  std::shared_ptr<const NamedImage> image;
  RunOrder setup, run;  // setup.launches may be empty
  std::vector<Region> buffers;
  std::vector<BufferContent> contents;
};

// Which elements of an output have reference values: `slice` from each begin on, `elements` in all.
struct Slices {
  std::vector<std::int64_t> begins;
  std::int64_t slice = 0, elements = 0;
};
Slices slices_of(const Task& task, const Case& what, std::size_t output, std::int64_t elements);

// The reference of one output, at the elements that `slices` say.
Result<OracleOrder> oracle_order(const TaskRef& task, const Case& what,
                                 const TaskPlacement& placement, std::size_t output,
                                 const ReferenceImage& program, Slices slices);

inline bool is_input(const Tensor& tensor) { return tensor.role != Role::out; }
inline bool is_output(const Tensor& tensor) {
  return tensor.role == Role::out || tensor.role == Role::in_out;
}

// The counters' values of each launch of a timed region.
struct CountedRun {
  std::vector<LaunchCounts> launches;
  std::vector<double> us;  // of each, under the profiler
  std::string chip;        // as CUPTI calls it
  int passes = 0;
  double seconds = 0;  // that it took
};

// Sentences for the user, added by one thread and read by others.
class Happenings {
 public:
  void add(std::string sentence) {
    const std::lock_guard lock(mutex_);
    sentences_.push_back(std::move(sentence));
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return sentences_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> sentences_;
};

class CudaTrials {
 public:
  CudaTrials(TrialDevice& device, CudaPrograms& programs, SpotCheck& spot, const DeviceSpec& spec,
             double trial_seconds, std::vector<LibraryCall> library_calls = {})
      : device_(device),
        orders_(device),
        programs_(programs),
        spot_(spot),
        spec_(spec),
        trial_seconds_(trial_seconds),
        library_calls_(std::move(library_calls)) {}

  // Error usage where the task has a judge of the calling program's that cannot see this device.
  Result<void> can_judge(const Task& task) const;
  // Each case from placement to comparison, in order, up to a fault that further ones would only
  // repeat. Before elements are called never written, a known kernel shows that what the runner
  // stores arrives; where it does not, the device's processes are replaced and all cases run again.
  // Errors: the machine failed twice at the same case; no_device when stores are lost again.
  Result<std::vector<CaseReport>> prove(const TaskRef& task, const CompiledKernel& kernel,
                                        std::span<const Case> cases);

  // Computes the controller's own reference values of cases, on all cores: what it takes no device
  // for is done before one is held. Any thread. Values that cannot be had are met again, and told,
  // when they are wanted.
  void foresee(const TaskRef& task, std::span<const Case> cases);
  // The cases whose content a measurement looks at.
  static std::vector<Case> cases_of(const Workload& workload, const MeasureOptions& options);

  // Interleaved timing of all contestants.
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> contestants,
                                             const MeasureOptions& options);

  // Returns the events found and mended since the device was opened, one sentence each. Any thread.
  std::vector<std::string> happened() const { return happened_.all(); }

  // One run under the hardware counters (cuda_count.cpp). Error no_device: none can be read.
  Attempt<CountedRun> count(const TaskRef& task, const CompiledKernel& kernel,
                            const Workload& workload, CountDepth depth);

  // Microseconds of the library's kernel for a task, back to back for `seconds` at a time, warm
  // (peaks.cpp).
  Result<std::vector<double>> sustain_library(const TaskRef& task, const LibraryCall& call,
                                              int times, double seconds);

 private:
  friend class MeasuredRounds;
  // A case under way: what the judge was asked to prepare, kept for the checks that follow.
  struct Trial {
    const TaskRef& task;
    const Case& what;
    const TaskPlacement& placement;
    const PlacedKernel* kernel;          // null: the library
    std::vector<OracleOrder> oracles{};  // one an output
  };
  using Ran = std::variant<DeviceRun, RunnerFault>;
  struct Proof;
  // An index that the controller looks at: `gaps` is null for other outputs.
  struct IndexLook {
    const TaskRef* gaps = nullptr;
    std::size_t tensor = 0;
    Case what{};
  };

  Result<std::vector<CaseReport>> prove_once(const TaskRef& task, const CompiledKernel& kernel,
                                             std::span<const Case> cases);
  Result<std::vector<SubjectReport>> measure_once(const TaskRef& task, const Workload& workload,
                                                  std::span<const Subject> contestants,
                                                  const MeasureOptions& options);
  static bool leaves_poison(const CaseReport& report);
  // The known answer in the memory of a case's outputs.
  Result<bool> stores_arrive(const Task& task, const Case& what);
  // True: they were, and both processes are new. Error no_device where they are new already.
  Result<bool> replace_if_stores_are_lost(const Task& task, const Case& what, bool replaced);
  // One case up to what is put off of it.
  Result<void> run_case(const TaskRef& task, const CompiledKernel& kernel, Fence fence,
                        Proof& proof);

  Result<TaskPlacement> place(const Task& task, const Case& what, Fence fence);
  // Rejected{run.launch} when its buffers ask for too much of the card's memory.
  Attempt<PlacedKernel> place_kernel(const Task& task, const TaskPlacement& placement,
                                     const CompiledKernel& kernel, const ResolvedPlan& plan);
  std::shared_ptr<const NamedImage> image_of(const CompiledKernel& kernel);
  Result<PlacedKernel> place_plain(const TaskRef& task, const Workload& workload,
                                   const TaskPlacement& placement);
  // Returns the content of one input.
  Result<PrepareItem> input_item(const Trial& trial, std::size_t tensor) const;
  // Returns the contents of inputs, outputs and buffers before a launch.
  Result<std::vector<PrepareItem>> initialising(const Trial& trial, FillState poison) const;
  // Which reference values each output of a case is compared with.
  Result<std::vector<OracleOrder>> oracles_of(const Trial& trial);
  // Inputs, poison and reference values for one run. What was put off is answered before.
  Result<void> prepare(Trial& trial);
  // Runs setup launches, while constant tensors hold the case's content and all else poison.
  Result<std::optional<RunnerFault>> run_setup(const Trial& trial);
  // Prepares and runs.
  Result<Ran> launch(Trial& trial, const RunOrder& order, double seconds);
  // Runs what is prepared; prepares and runs once more when the runner went away by itself.
  Result<Ran> run_prepared(Trial& trial, const RunOrder& order, double seconds);
  // Finds out if a fault 700 was a write to an input: runs again with inputs that may be written,
  // and looks.
  Result<void> tell_input_writes(Trial& trial, RunnerFault& fault, double seconds);
  Result<CheckItem> check_item(const Trial& trial, std::size_t tensor_index) const;
  // The judge's word on outputs, guards and promises, in `report` once what is put off has been
  // told. Task, placement and report must live so long.
  Result<void> check(const Trial& trial, CaseReport& report);
  // Asks the calling program's judges of a case that was checked.
  Result<void> ask_judges(const Trial& trial, CaseReport& report);
  // The task that judges an output's indices of computed values (task/index_gap.hpp); null: it has
  // none.
  const TaskRef* gap_task_of(const TaskRef& task, std::size_t output);
  // After check(): the judge's word on indices that are not the reference's.
  Result<void> check_indices(const Trial& trial, CaseReport& report);
  // The controller's own look at a few elements, put off too: an Error when the judge's word does
  // not stand.
  Result<void> look(const Trial& trial, CaseReport& report);
  Result<void> look_at(const Trial& trial, std::size_t tensor, std::size_t output,
                       CaseReport& report);
  Result<void> compare(const std::string& payload, const SpotValues& known,
                       const BoundParams& bound, const std::vector<std::size_t>& drawn,
                       std::size_t output, CaseReport& report, const IndexLook& indices);
  // Looks at indices that are not the reference's.
  // Returns how many were recomputed.
  Result<std::int64_t> look_at_indices(const IndexLook& indices,
                                       std::span<const std::int64_t> others,
                                       std::span<const std::uint64_t> left,
                                       const OutputReport& said);
  // Launches again and compares bits (Case::repeats).
  Result<void> repeat(Trial& trial, double seconds, CaseReport& report);
  double run_seconds(const Task& task, const Workload& workload) const;

  TrialDevice& device_;
  JudgeOrders orders_;
  CudaPrograms& programs_;
  SpotCheck& spot_;
  const DeviceSpec& spec_;
  double trial_seconds_;
  std::vector<LibraryCall> library_calls_;
  std::vector<std::shared_ptr<const NamedImage>> named_;  // images that were named last
  Happenings happened_;
  std::map<std::string, std::optional<TaskRef>> gap_tasks_;  // by task and output
  std::uint64_t gaps_computed_ = 0;
};

// The step over the case's tensors and the kernel's buffers.
StepOrder step_order(const LibraryStep& step, const TaskPlacement& placement,
                     const std::vector<Region>& buffers);
// Adds a launch of the kernel, or the step of a launch that is a library's.
void add_launch(RunOrder& order, const ResolvedLaunch& launch, const CompiledKernel& kernel,
                const TaskPlacement& placement, const std::vector<Region>& buffers);

// Recipe numbers of a tensor for one content. Output tensors have a layout only.
Result<FillParams> layout_of(const Task& task, std::size_t tensor, const Workload& workload,
                             const Content& content);

Fault fault_of(const RunnerFault& fault);
Fault fault_of(const Rejected& rejected);

}  // namespace cupilot
