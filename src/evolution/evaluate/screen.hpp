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

// Level `candidate` takes the few of its cases that tell most for their cost, higher levels take
// all of theirs.
Result<Screened> screen(const Pipe& pipe, const CompiledKernel& kernel, ProofLevel level,
                        std::uint64_t seed);

}  // namespace cupilot
