// Whether a search can be made of the numbers a host gives.
#pragma once

#include <cupilot/search.hpp>

namespace cupilot {

// Error usage that names the first number out of its range.
Result<void> check(const SearchOptions& options);

}  // namespace cupilot
