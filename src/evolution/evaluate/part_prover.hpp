// Proves the parts of a program beside the whole; the pipe finds it in its writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <cupilot/evolve.hpp>
#include <cupilot/result.hpp>

namespace cupilot {

struct PartProof {
  std::optional<Rejected> refused{};  // names the part
  std::string proved{};               // a sentence; "": no parts of several were run
};

class PartProver {
 public:
  virtual ~PartProver() = default;
  // Error only when the machine failed.
  virtual Result<PartProof> prove_parts(const Pipe& pipe, const Strategy& strategy,
                                        ProofLevel level, std::uint64_t seed) = 0;
};

}  // namespace cupilot
