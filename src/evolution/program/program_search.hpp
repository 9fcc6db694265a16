// The search of a program: partition and budget; each part is a search of its own
// (docs/programs.md).
#pragma once

#include <string>

#include <cupilot/evolve.hpp>

namespace cupilot {

// True if no one template serves the task, and nobody but templates would write it.
bool needs_program(const Task& task, const Backend& backend, const EvolveOptions& options);

// Do what evolve() and resume() say, for a program. `task`: as in the run directory.
Result<EvolveReport> evolve_program(const Task& task, Backend& backend,
                                    const EvolveOptions& options);
Result<EvolveReport> resume_program(const std::string& run_dir, Backend& backend,
                                    const EvolveOptions& options);

}  // namespace cupilot
