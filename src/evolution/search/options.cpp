#include "evolution/search/options.hpp"

#include <cmath>

#include <fmt/format.h>

namespace cupilot {

std::string_view name_of(SearchPolicy policy) {
  return policy == SearchPolicy::random ? "random" : "evolution";
}

Result<void> check(const SearchOptions& options) {
  struct Whole {
    const char* name;
    std::int64_t value, least;
  };
  const Whole wholes[] = {{"population", options.population, 1},
                          {"initial", options.initial, 1},
                          {"children", options.children, 1},
                          {"elites", options.elites, 1},
                          {"tournament", options.tournament, 1},
                          {"generations_per_epoch", options.generations_per_epoch, 1},
                          {"lookahead", options.lookahead, 0},
                          {"brood", options.offspring_per_slot, 1},
                          {"repairs", options.repairs, 0},
                          {"max_evaluations", options.max_evaluations, 0},
                          {"max_generations", options.max_generations, 0},
                          {"parallel", options.parallel, 0}};
  for (const auto& [name, value, least] : wholes) {
    if (value >= least) continue;
    return Error{ErrorCode::usage,
                 fmt::format("SearchOptions::{} is {}, which is less than {}", name, value, least),
                 "limits of 0 are none; the header search.hpp says what each number means"};
  }
  const std::pair<const char*, double> quantities[] = {
      {"target_us (--target)", options.target_us},
      {"utilisation_weight", options.utilisation_weight},
      {"tune_share", options.tune_share}};
  for (const auto& [name, value] : quantities) {
    if (std::isfinite(value) && value >= 0) continue;
    return Error{
        ErrorCode::usage,
        fmt::format("SearchOptions::{} is {}, which is no finite number from 0 up", name, value),
        "a target of 0 is none"};
  }
  return {};
}

}  // namespace cupilot
