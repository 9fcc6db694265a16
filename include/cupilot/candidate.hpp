// A strategy that went through the evaluation pipe, and its outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/parts/measurement.hpp>
#include <cupilot/parts/verification.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>
#include <cupilot/verdict.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// The compiler of an accepted kernel, its confinement while it ran, and the gate's remarks.
struct Conditions {
  std::string compiler{}, options{}, arch{};  // "nvrtc 13.0", as given, "sm_90a"
  std::vector<std::string> flags{};           // PtxFacts::flags
  std::string compiled_under{};               // CompiledKernel::confinement
  std::string ran_under{};                    // TrialReport::confinement
  std::string
      screened_on{};  // the virtual device that proved it before the real one ran it; "": none
};

struct Accepted {
  Measurement measurement{};
  Verification verification{};
  Verdict verdict{};
  Conditions conditions{};
};

// The evaluation ended without an answer because a worker or a host failed; it may be repeated.
struct Lost {
  std::string reason{};
};

using Outcome = std::variant<Accepted, Rejected, Lost>;

struct Candidate {
  std::uint64_t id = 0;  // id of the proposal
  Strategy strategy{};
  std::string strategy_id{};
  std::string kernel_id{};    // "" when nothing was written
  std::string kernel_hash{};  // hash of the normalised PTX; "" when nothing was compiled
  KernelSource source{};
  bool evaluated = false;  // handed to the compiler: counts as an evaluation
  Outcome outcome = Lost{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
