// Runs that search one kernel for a task; evolve() and resume() choose between these and programs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>

#include "evolution/journal/records.hpp"

namespace cupilot {

// The caller's options with what the run's header holds instead.
EvolveOptions as_recorded(Host& host, const HeaderRecord& header, const EvolveOptions& options,
                          const std::string& run_dir);

struct KernelRun {
  std::vector<std::string> notices{};  // told at the beginning and kept in the journal
  // True makes a notice, instead of an end, of what a task's check cannot tell apart.
  bool weak_check_allowed = false;
  // False: the best stands as the search proved it, since what it becomes part of is confirmed.
  bool confirms = true;
  // False: the library's call is no baseline; whoever asks may time it apart.
  bool asks_library = true;
  // Told before each proposal when the search is to end, by the host's clock; null: nobody asks.
  std::atomic<double>* search_end = nullptr;
};

// Do what evolve() and resume() say, for one kernel.
Result<EvolveReport> evolve_kernel(const Task& task, Backend& backend, const EvolveOptions& options,
                                   const KernelRun& how = {});
Result<EvolveReport> resume_kernel(const std::string& run_dir, Backend& backend,
                                   const EvolveOptions& options, const KernelRun& how = {});

}  // namespace cupilot
