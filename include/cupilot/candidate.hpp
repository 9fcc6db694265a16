// One strategy's way through the pipe, and how it ended.
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

// What made an accepted kernel, what held it while it ran, and what the gate remarked.
struct Conditions {
  std::string compiler{}, options{}, arch{};  // "nvrtc 13.0", as given, "sm_90a"
  std::vector<std::string> flags{};           // PtxFacts::flags
  std::string compiled_under{};               // CompiledKernel::confinement
  std::string ran_under{};                    // TrialReport::confinement
  std::string
      screened_on{};  // the virtual device that proved it before the real one ran it; "": none did
};

struct Accepted {
  Measurement measurement{};
  Verification verification{};
  Verdict verdict{};
  Conditions conditions{};
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
  std::string kernel_id{};    // "" when nothing was written
  std::string kernel_hash{};  // of normalised PTX; "" when nothing was compiled
  KernelSource source{};
  bool evaluated = false;  // handed to the compiler: counts as an evaluation
  Outcome outcome = Lost{};
};

}  // namespace cupilot
CUPILOT_EXPORTS_END
