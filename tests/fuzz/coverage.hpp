// Which branches texts reached, where the library is built with CUPILOT_FUZZ_COVERAGE; nothing is
// ever new elsewhere. One thread.
#pragma once

#include <cstddef>

namespace cupilot::fuzz {

// Forgets what was reached since the last call, and answers whether any of it had not been reached
// before.
bool reached_new();
// Nothing counts as reached any more.
void forget_reached();
// Branches reached so far.
std::size_t branches_reached();

}  // namespace cupilot::fuzz
