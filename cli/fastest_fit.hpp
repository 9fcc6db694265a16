// The fastest setting of a strategy's template at sizes that the strategy was not found at.
#pragma once

#include <cstdint>

#include <cupilot/backend.hpp>
#include <cupilot/candidate.hpp>
#include <cupilot/result.hpp>

#include "own_strategy.hpp"

namespace cupilot::cli {

// Confirms the fastest of the strategy as it is, of what the models fit to these sizes, and of what
// a search of 24 evaluations and 20 s among the settings of its template finds from them;
// `own.found_at` must be set. Error no_candidate or budget: none was proved. `screen`: may be null.
Result<Candidate> fastest_fit(Backend& backend, const OwnStrategy& own, std::uint64_t seed,
                              Backend* screen);

}  // namespace cupilot::cli
