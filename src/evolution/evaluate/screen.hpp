// A candidate of a real device is proved on a virtual device of its chip first: every access
// checked, no device time spent.
#pragma once

#include <optional>
#include <string>

#include <cupilot/evolve.hpp>

namespace cupilot {

struct Screened {
  std::optional<Rejected> refused;
  std::string proved, unproved;  // a sentence each; "" when there is nothing to say
};

// True if the real device may still run what the virtual one refuses so: it cannot run it, or not
// at the shapes that it can take.
bool beyond_the_screen(const Rejected& rejected);

// Adds runs that the battery's cases, `met`, call for by what they executed; a device that does not
// tell has none.
Result<void> reach_further(Backend& backend, const TaskRef& task, const CompiledKernel& kernel,
                           ProofLevel level, const std::vector<Case>& met, TrialReport& report);

// Level `candidate` takes the few of its cases that tell most for their cost, higher levels take
// all of theirs.
Result<Screened> screen(const Pipe& pipe, const CompiledKernel& kernel, ProofLevel level,
                        std::uint64_t seed);

}  // namespace cupilot
