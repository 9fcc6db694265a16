// First signal: checkpoint and stop, within two seconds whatever is being waited for. Second: now.
#pragma once

#include <atomic>
#include <string>

namespace cupilot::cli {

// Installs the handlers and returns the flag that the first signal sets. A program that has not
// ended 1.4 s later ends at once, without a word on standard output.
std::atomic<bool>& watch_signals();

// Sets the text that it says on standard error then.
void leave_with(const std::string& words);

// 129, 130 or 143 after SIGHUP, SIGINT or SIGTERM, 0 when there was none.
int signal_exit_code();

}  // namespace cupilot::cli
