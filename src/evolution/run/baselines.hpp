// The times that a search is compared with, taken before it begins.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>

#include "evolution/evaluate/pipe.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot {

// A kernel of the user's own that is proved.
struct OwnKernel {
  const OwnBaseline* baseline = nullptr;
  CompiledKernel kernel{};
};
// Proves kernels as finalists; one that is refused leaves a notice.
Result<std::vector<OwnKernel>> prove_own(const Pipe& pipe, std::span<const OwnBaseline> own,
                                         std::vector<std::string>& notices);

// Times the task's reference, if `plain`, the vendor library's kernel, and the user's own.
// `notices`: of the run, which stand before those of the timing.
Result<BaselinesRecord> time_baselines(const Pipe& pipe, bool plain, bool library,
                                       std::span<const OwnKernel> own,
                                       std::vector<std::string> notices);

// The user's own kernel of that name; null: another baseline has it.
const OwnBaseline* own_named(std::span<const OwnBaseline> own, const std::string& name);

}  // namespace cupilot
