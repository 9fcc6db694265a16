// Starting points as JSON: a family's practice.json (docs/formats/family.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/pool.hpp>

namespace cupilot {

// Error usage names the origin, the entry and the reason.
Result<std::vector<PoolEntry>> practice_from(std::string_view json, const std::string& origin);

}  // namespace cupilot
