// First signal: checkpoint and stop. Second: now.
#pragma once

#include <atomic>

namespace cupilot::cli {

// Installs the handlers and returns the flag that the first signal sets.
std::atomic<bool>& watch_signals();

// 129, 130 or 143 after SIGHUP, SIGINT or SIGTERM, 0 when there was none.
int signal_exit_code();

}  // namespace cupilot::cli
