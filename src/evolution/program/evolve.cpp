// evolve() and resume(): one kernel, or a program of several.
#include <cupilot/parts/run_report.hpp>

#include "base/guard.hpp"
#include "base/stop.hpp"
#include "evolution/journal/events.hpp"
#include "evolution/journal/program_record.hpp"
#include "evolution/journal/run_state.hpp"
#include "evolution/program/program_search.hpp"
#include "evolution/run/kernel_run.hpp"

namespace cupilot {
namespace {

// True for a run of a program: it keeps program.json before its first proposal, so that a run with
// proposals and without that file is of one kernel, whatever would be begun today.
bool is_program(const std::string& run_dir, const Task& task, const Backend& backend,
                const EvolveOptions& options) {
  Host& host = options.host != nullptr ? *options.host : real_host();
  if (host.exists(program_path(run_dir))) return true;
  if (!needs_program(task, backend, options)) return false;
  const auto read = read_journal(host, run_dir);
  if (!read) return true;
  const auto state = fold(*read);
  return !state || state->events.empty();
}

}  // namespace

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
    if (beginning && is_program(run_dir, beginning->task, backend, options))
      return resume_program(run_dir, backend, options);
    return resume_kernel(run_dir, backend, options);
  });
}

}  // namespace cupilot
