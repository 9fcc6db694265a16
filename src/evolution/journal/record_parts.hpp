// JSON of the parts that records are made of. Reading throws nlohmann's exceptions; records.cpp
// catches them.
#pragma once

#include "base/measurement_json.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot::parts {

Json put(const Verification& verification);
Json put(const Verdict& verdict);
Json put(const Strategy& strategy);
Json put(const Candidate& candidate);
Json put(const Conditions& conditions);
Json put(const Baseline& baseline);
Json put(const Technique& technique);
Json put(const SearchOptions& options);
Json put(const Proposal& proposal);

Verification verification_of(const Json& json);
Verdict verdict_of(const Json& json);
Conditions conditions_of(const Json& json);
Strategy strategy_of(const Json& json);
Candidate candidate_of(const Json& json);
Baseline baseline_of(const Json& json);
Technique technique_of(const Json& json);
SearchOptions search_options_of(const Json& json);
Proposal proposal_of(const Json& json);

}  // namespace cupilot::parts
