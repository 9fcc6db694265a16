// The files of a run directory beside its journal: blobs/ and best/
// (docs/formats/run-directory.md).
#pragma once

#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>

#include "evolution/journal/run_state.hpp"

namespace cupilot {

// blobs/KERNEL_ID.cu, a standalone file, synced where it is of free form. Does nothing for a
// candidate without source or one already kept.
Result<void> keep_source(Host& host, const std::string& run_dir, const Candidate& candidate,
                         const std::vector<std::string>& task_words);
Result<KernelSource> kept_source(Host& host, const std::string& run_dir,
                                 const std::string& kernel_id);

// tunables/NUMBER-NAME: the user's own templates as the run began with them, so that neither an
// edit nor another working directory changes it.
Result<void> keep_tunables(Host& host, const std::string& run_dir,
                           const std::vector<std::string>& paths);
// Paths of the kept copies; of a run that kept none, the original paths.
std::vector<std::string> kept_tunables(Host& host, const std::string& run_dir,
                                       std::vector<std::string> paths);

// best/: kernel.cu, launch.json, strategy.json, evidence.json and, for a kernel of a CUDA device,
// task.json and a launcher.
Result<void> write_best(Host& host, const std::string& run_dir, const Task& task,
                        const Backend& backend, const Best& best, const CompiledKernel& kernel,
                        const std::vector<std::string>& task_words);

// report.html; its path.
Result<std::string> write_report(Host& host, const std::string& run_dir);

// main.cpp of the launcher: driver API and NVRTC, no library of ours. Nullopt reason when the plan
// cannot be resolved.
Result<std::string> launcher_text(const Task& task, const DeviceSpec& device,
                                  const CompiledKernel& kernel);
std::string launcher_makefile(const LaunchPlan& plan);

}  // namespace cupilot
