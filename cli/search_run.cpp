#include "search_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "device.hpp"
#include "screens/rewritten.hpp"
#include "screens/say.hpp"
#include "signals.hpp"
#include "steering.hpp"

namespace cupilot::cli {

void Screen::on_generation(const Progress& progress) {
  print(generation_line(progress, provenance_, runs_kernels_));
}
void Screen::on_notice(const std::string& notice) { print("note: " + notice); }
// A duplicate is no fault of anybody's: the generation's line counts it.
void Screen::on_refusal(const Refusal& refusal) {
  if (refusal.why.code != "gate.duplicate") print(refusal_text(refusal));
}
void Screen::on_activity(const Activity& activity) {
  if (json_) return;
  const std::vector<std::string> lines = activity_lines(activity);
  if (isatty(fileno(stream_)) == 0) {
    print(fmt::format("{}", fmt::join(lines, "; ")));
    return;
  }
  winsize size{};
  const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  constexpr std::size_t usual_columns = 80;
  const std::lock_guard hold(mutex_);
  const bool whole =
      send(stream_, rewritten(lines, waiting_lines_, known ? size.ws_col : usual_columns));
  waiting_lines_ = whole ? lines.size() : 0;
}
void Screen::print(const std::string& line) {
  const std::lock_guard hold(mutex_);
  show(stream_, rewritten({}, std::exchange(waiting_lines_, 0), 0) + line);
}
void Screen::end() {
  const std::lock_guard hold(mutex_);
  send(stream_, rewritten({}, std::exchange(waiting_lines_, 0), 0));
}

int in_flight(int threads, const Backend& backend) {
  if (threads > 0) return threads;
  return backend.provenance() == Provenance::measured ? 0 : backend.traits().parallel_compiles;
}

EvolveOptions options_from(const EvolveFlags& flags, const Task& task, const Backend& backend,
                           SearchObserver& observer) {
  EvolveOptions options;
  options.search.seed = flags.seed;
  options.search.max_evaluations = flags.evaluations;
  options.search.max_generations = static_cast<int>(flags.generations);
  options.search.target_us = flags.target_us;
  options.search.parallel = in_flight(flags.threads, backend);
  options.max_seconds = flags.seconds;
  options.run_dir = flags.run_dir.empty() ? fmt::format("runs/{:%Y%m%dT%H%M%S}-{}",
                                                        fmt::gmtime(std::time(nullptr)), task.name)
                                          : flags.run_dir;
  options.tunables = flags.tunables;
  options.search.policy = flags.policy == "random" ? SearchPolicy::random : SearchPolicy::evolution;
  options.search.steering = flags.steering;
  options.pool = pool_anywhere(pool_of(flags));
  options.pool_tags = flags.pool_guard;
  options.screening = flags.screen;
  options.plain_baseline = flags.plain;
  options.against = flags.against;
  options.task_words = flags.task;
  options.device_name = flags.common.device;
  options.worker_path = backend_options().worker_path;
  options.observer = &observer;
  options.cancel = &watch_signals();
  leave_with(stopped_text(options.run_dir));
  return options;
}

}  // namespace cupilot::cli
