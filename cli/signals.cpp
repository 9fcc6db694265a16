#include "signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>

namespace cupilot::cli {
namespace {

std::atomic<bool> asked{false};
volatile std::sig_atomic_t caught = 0;
static_assert(std::atomic<bool>::is_always_lock_free);

// An orderly end may wait for a kernel that is being proved: not for longer than this.
constexpr itimerspec patience{{0, 0}, {1, 400'000'000}};
timer_t end_timer;
bool has_timer = false;

char last_words[PIPE_BUF] = "";
std::size_t last_words_size = 0;

void on_signal(int signal) {
  if (caught != 0) _exit(128 + signal);
  caught = signal;
  asked.store(true);
  if (has_timer) timer_settime(end_timer, 0, &patience, nullptr);
}

// All that was told is in the journal: the end may come at any time.
void on_end(int) {
  pollfd entry{STDERR_FILENO, POLLOUT, 0};
  if (last_words_size > 0 && poll(&entry, 1, 0) == 1 && entry.revents == POLLOUT)
    static_cast<void>(!write(STDERR_FILENO, last_words, last_words_size));
  _exit(128 + caught);
}

}  // namespace

std::atomic<bool>& watch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_end;
  sigaction(SIGALRM, &action, nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  if (!has_timer) has_timer = timer_create(CLOCK_MONOTONIC, &event, &end_timer) == 0;
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

void leave_with(const std::string& words) {
  last_words_size = 0;
  const std::size_t size = std::min(words.size(), sizeof last_words);
  std::memcpy(last_words, words.data(), size);
  last_words_size = size;
}

int signal_exit_code() { return caught == 0 ? 0 : 128 + caught; }

}  // namespace cupilot::cli
