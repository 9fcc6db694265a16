// Proving and timing on one CUDA device: which bytes lie where, what is asked of judge and runner, what the answers mean.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cupilot/backend.hpp>

#include "backend/cuda_device.hpp"
#include "backend/cuda_programs.hpp"

namespace cupilot {

// Where the tensors of a task lie at one workload, and their shapes as numbers.
struct TaskPlacement {
  std::vector<Region> tensors;
  std::vector<FillParams> layouts;  // seed-free: fill_params at the first content
};

// A kernel at one workload, ready to be ordered.
struct PlacedKernel {
  NamedImage image;
  RunOrder setup, run;  // setup.launches may be empty
  std::vector<Region> buffers;
  std::vector<BufferContent> contents;
};

class CudaTrials {
 public:
  CudaTrials(CudaDevice& device, CudaPrograms& programs, const DeviceSpec& spec, double trial_seconds)
      : device_(device), programs_(programs), spec_(spec), trial_seconds_(trial_seconds) {}

  // One case from placement to comparison. Error: the machine failed.
  Result<CaseReport> prove(const Task& task, const std::string& task_key, const CompiledKernel& kernel, const Case& what);

  // Interleaved timing of all contestants.
  Result<std::vector<ContestantReport>> measure(const Task& task, const std::string& task_key, const Workload& workload,
                                                std::span<const Contestant> contestants, const MeasureOptions& options);

 private:
  friend class MeasuredRounds;
  Result<TaskPlacement> place(const Task& task, const Workload& workload);
  Result<PlacedKernel> place_kernel(const Task& task, const TaskPlacement& placement, const CompiledKernel& kernel,
                                    const ResolvedPlan& plan);
  Result<PlacedKernel> place_plain(const Task& task, const std::string& task_key, const Workload& workload,
                                   const TaskPlacement& placement);
  // Inputs, poison and reference values for one run.
  Result<std::vector<std::string>> prepare(const Task& task, const std::string& task_key, const Case& what,
                                           const TaskPlacement& placement, const PlacedKernel* kernel);
  Result<std::optional<RunnerFault>> run_setup(const Task& task, const TaskPlacement& placement, const PlacedKernel& kernel);
  Result<void> check(const Task& task, const Case& what, const TaskPlacement& placement, const PlacedKernel* kernel,
                     const std::vector<std::string>& oracle_keys, CaseReport& report);
  double run_seconds(const Task& task, const Workload& workload) const;

  CudaDevice& device_;
  CudaPrograms& programs_;
  const DeviceSpec& spec_;
  double trial_seconds_;
};

// Recipe numbers of a tensor for one content. Output tensors have a layout only.
Result<FillParams> layout_of(const Task& task, std::size_t tensor, const Workload& workload, const Content& content);

}  // namespace cupilot
