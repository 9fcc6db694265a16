// evolve() and resume(): one kernel, or a program of several.
#include <cupilot/parts/run_report.hpp>

#include "base/guard.hpp"
#include "base/stop.hpp"
#include "evolution/program/program_search.hpp"
#include "evolution/run/kernel_run.hpp"

namespace cupilot {

Result<EvolveReport> evolve(const Task& task, Backend& backend, const EvolveOptions& options) {
  const StopScope stoppable({options.cancel});
  return guarded([&]() -> Result<EvolveReport> {
    if (needs_program(task, backend, options)) return evolve_program(task, backend, options);
    return evolve_kernel(task, backend, options);
  });
}

Result<EvolveReport> resume(const std::string& run_dir, Backend& backend,
                            const EvolveOptions& options) {
  const StopScope stoppable({options.cancel});
  return guarded([&]() -> Result<EvolveReport> {
    const auto beginning = read_beginning(run_dir);
    if (beginning && needs_program(beginning->task, backend, options))
      return resume_program(run_dir, backend, options);
    return resume_kernel(run_dir, backend, options);
  });
}

}  // namespace cupilot
