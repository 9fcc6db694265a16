// A strategy inside of other JSON.
#pragma once

#include <cupilot/strategy.hpp>

#include "base/json.hpp"

namespace cupilot {

// The JSON of strategy_to_json, its keys sorted and its texts as they stand.
SortedJson sorted_json(const Strategy& strategy);

}  // namespace cupilot
