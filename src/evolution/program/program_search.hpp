// The search of a program: partition and budget; each part is a search of its own
// (docs/programs.md).
#pragma once

#include <string>

#include <cupilot/evolve.hpp>

namespace cupilot {

// True if nobody but templates would write the task, and either none serves it, or a part of it can
// be prepared, or a composite's body is offered.
bool needs_program(const Task& task, const Backend& backend, const EvolveOptions& options);

// Do what evolve() and resume() say, for a program. `task`: as in the run directory.
Result<EvolveReport> evolve_program(const Task& task, Backend& backend,
                                    const EvolveOptions& options);
Result<EvolveReport> resume_program(const std::string& run_dir, Backend& backend,
                                    const EvolveOptions& options);

}  // namespace cupilot
