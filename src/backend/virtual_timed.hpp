// Outputs of the runs that a modelled time stands on: work that was not done, or not done right, must not be counted.
#pragma once

#include <optional>

#include <cupilot/rejection.hpp>
#include <cupilot/rng.hpp>

#include "backend/virtual_run.hpp"

namespace cupilot {

// After a whole run: drawn elements of every output. Rejected{measure.timed_launch}.
Result<std::optional<Rejected>> wrong_whole(const VirtualContext& context, const IdentifiedTask& task, VirtualMemory& memory,
                                            const Workload& workload, const Content& content);

// After some blocks of a plan's only launch, each output element of one block: a few of the elements that they wrote.
Result<std::optional<Rejected>> wrong_part(const VirtualContext& context, const IdentifiedTask& task, VirtualMemory& memory,
                                           const Workload& workload, const Content& content, Rng rng);

}  // namespace cupilot
