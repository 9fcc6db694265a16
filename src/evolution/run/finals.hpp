// The fastest of a search: timed again beside one another, and the best of them confirmed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <cupilot/parts/host.hpp>

#include "evolution/evaluate/pipe.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot {

struct Finalist {
  std::int64_t slot = 0;
  Strategy strategy;
  double time_us = 0;
  const KernelSource* source = nullptr;    // text of free form; null: the writer writes it again
  std::optional<CompiledKernel> kernel{};  // once compiled anew
};

// Compiles all anew side by side, by processes of their own. Calls `waiting` now and then.
Attempt<std::vector<CompiledKernel>> compile_finalists(const Pipe& pipe, Host& host,
                                                       std::span<const Finalist> finalists,
                                                       const std::function<void()>& waiting);

// Times compiled finalists interleaved and sorts them by it.
Result<void> time_finalists(const Pipe& pipe, std::span<Finalist> finalists,
                            const MeasureOptions& rules);

// Proves and times one beside the baselines. `kernel`: what was confirmed.
Result<FinalRecord> confirm_finalist(const Pipe& pipe, const Finalist& finalist,
                                     EvaluationOptions rules,
                                     const std::vector<Baseline>& baselines,
                                     const std::vector<std::string>& against,
                                     std::span<const OwnBaseline> own, CompiledKernel& kernel);

// Takes the search's proof and times for a leader that is not confirmed, and says `why`.
FinalRecord unconfirmed_leader(Candidate leader, const std::vector<Baseline>& baselines,
                               const std::string& why);

}  // namespace cupilot
