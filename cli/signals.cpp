#include "signals.hpp"

#include <unistd.h>
#include <csignal>

namespace cupilot::cli {
namespace {

std::atomic<bool> asked{false};
volatile std::sig_atomic_t caught = 0;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int signal) {
  if (caught != 0) _exit(128 + signal);
  caught = signal;
  asked.store(true);
}

}  // namespace

std::atomic<bool>& watch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A terminal that goes away stops a search in order too; who began it under nohup wants it to go
  // on.
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  // A screen that nobody reads any more ends no search.
  std::signal(SIGPIPE, SIG_IGN);
  // A write past a file-size limit is then an error with a name instead of a death.
  std::signal(SIGXFSZ, SIG_IGN);
  return asked;
}

int signal_exit_code() { return caught == 0 ? 0 : 128 + caught; }

}  // namespace cupilot::cli
