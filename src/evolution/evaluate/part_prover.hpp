// Proves the parts of a program beside the whole; the pipe finds it in its writer.
#pragma once

#include <cstdint>
#include <optional>

#include <cupilot/evolve.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

class PartProver {
 public:
  virtual ~PartProver() = default;
  // A refusal names the part. Error only when the machine failed.
  virtual Result<std::optional<Rejected>> prove_parts(const Pipe& pipe, const Strategy& strategy,
                                                      ProofLevel level, std::uint64_t seed) = 0;
};

}  // namespace cupilot
