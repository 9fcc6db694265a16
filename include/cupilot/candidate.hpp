// One strategy's way through the pipe, and how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/kernel_source.hpp>
#include <cupilot/measurement.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/verdict.hpp>
#include <cupilot/verification.hpp>

namespace cupilot {

struct Accepted {
  Measurement measurement{};
  Verification verification{};
  Verdict verdict{};
};

// A worker or host fell silent: nobody's fault, may be asked again.
struct Lost {
  std::string reason{};
};

using Outcome = std::variant<Accepted, Rejected, Lost>;

struct Candidate {
  std::uint64_t id = 0;  // of the proposal
  Strategy strategy{};
  std::string strategy_id{};
  std::string kernel_id{};  // "" when nothing was written
  KernelSource source{};
  bool evaluated = false;  // handed to the compiler: counts as an evaluation
  Outcome outcome = Lost{};
};

}  // namespace cupilot
