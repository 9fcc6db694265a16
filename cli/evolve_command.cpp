#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include <cupilot/evolve.hpp>

#include "commands.hpp"
#include "json_out.hpp"
#include "say.hpp"
#include "signals.hpp"
#include "words.hpp"

namespace cupilot::cli {
namespace {

// Generations go to standard output, or to standard error when standard output is one JSON object.
class Screen : public SearchObserver {
 public:
  Screen(bool json, Provenance provenance) : stream_(json ? stderr : stdout), provenance_(provenance) {}
  void on_generation(const Progress& progress) override { print(generation_line(progress, provenance_)); }
  void on_notice(const std::string& notice) override { print("note: " + notice); }

 private:
  void print(const std::string& line) {
    std::fprintf(stream_, "%s\n", line.c_str());
    std::fflush(stream_);
  }
  std::FILE* stream_;
  Provenance provenance_;
};

std::string default_run_dir(const Task& task) {
  return fmt::format("runs/{:%Y%m%dT%H%M%S}-{}", fmt::gmtime(std::time(nullptr)), task.name);
}

int finish(const Result<EvolveReport>& report, const Task& task, bool json) {
  if (!report) {
    if (json) say(error_json(report.error()));
    const int stopped = signal_exit_code();
    const int code = fail(report.error());
    return stopped != 0 ? stopped : code;
  }
  if (json) {
    say(report_json(*report, task));
  } else {
    print_report(*report, task);
  }
  return signal_exit_code();
}

Result<std::unique_ptr<Backend>> open_device(const std::string& name, int threads) {
  BackendOptions options;
  options.compile_jobs = threads;
  return open_backend(name, options);
}

// The device's own number of proposals in flight suits one that measures; a virtual one wants its processors for itself.
int in_flight(int threads, const Backend& backend) {
  if (threads > 0) return threads;
  return backend.provenance() == Provenance::measured ? 0 : backend.parallel_compiles();
}

}  // namespace

int evolve_command(const EvolveFlags& flags) {
  // A landscape spans its own space: the task says nothing.
  const bool landscape = flags.common.device.rfind("fake:", 0) == 0 && flags.task.empty();
  Result<Task> task = landscape ? Result<Task>(landscape_task()) : task_from_words(flags.task);
  if (!task) return fail(task.error());
  Result<std::unique_ptr<Backend>> backend = open_device(flags.common.device, flags.threads);
  if (!backend) return fail(backend.error());

  Screen screen(flags.common.json, (*backend)->provenance());
  EvolveOptions options;
  options.search.seed = flags.seed;
  options.search.max_evaluations = flags.evaluations;
  options.search.max_generations = static_cast<int>(flags.generations);
  options.search.target_us = flags.target_us;
  options.search.parallel = in_flight(flags.threads, **backend);
  options.max_seconds = flags.seconds;
  options.run_dir = flags.run_dir.empty() ? default_run_dir(*task) : flags.run_dir;
  options.tunables = flags.tunables;
  options.random_search = flags.random;
  options.screening = flags.screen;
  options.task_words = flags.task;
  options.device_name = flags.common.device;
  options.observer = &screen;
  options.cancel = &watch_signals();
  if (!flags.common.json)
    say(fmt::format("evolving {} on {}; run directory {}", task->name, (*backend)->identity(), options.run_dir));
  return finish(evolve(*task, **backend, options), *task, flags.common.json);
}

int resume_command(const RunFlags& flags) {
  Result<RunSummary> run = read_run(flags.dir);
  if (!run) return fail(run.error());
  const std::string device = flags.common.device.empty() ? run->device_name : flags.common.device;
  Result<std::unique_ptr<Backend>> backend = open_device(device, flags.threads);
  if (!backend) return fail(backend.error());

  Screen screen(flags.common.json, (*backend)->provenance());
  EvolveOptions options;
  options.raise_evaluations = flags.evaluations;
  options.search.parallel = in_flight(flags.threads, **backend);
  options.max_seconds = flags.seconds;
  options.observer = &screen;
  options.cancel = &watch_signals();
  return finish(resume(flags.dir, **backend, options), run->task, flags.common.json);
}

int record_command(const RecordFlags& flags) {
  Result<Task> task = task_from_words(flags.task);
  if (!task) return fail(task.error());
  Result<std::unique_ptr<Backend>> backend = open_device(flags.common.device, 0);
  if (!backend) return fail(backend.error());
  Screen screen(flags.common.json, (*backend)->provenance());
  const Result<std::int64_t> kept = record_landscape(*task, **backend, flags.dir, flags.count, flags.seed, &screen);
  if (!kept) return fail(kept.error());
  if (flags.common.json) {
    say(fmt::format("{{\"recorded\": {}, \"dir\": \"{}\"}}", *kept, flags.dir));
  } else {
    say(fmt::format("recorded {} strategies in {}; replay: cupilot evolve … --device recorded:{}", *kept, flags.dir, flags.dir));
  }
  return 0;
}

}  // namespace cupilot::cli
