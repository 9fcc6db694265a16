// Checks the numbers that a host gives a search.
#pragma once

#include <cupilot/search.hpp>

namespace cupilot {

// Error usage that names the first number out of its range.
Result<void> check(const SearchOptions& options);

}  // namespace cupilot
