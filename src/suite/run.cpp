// A suite's tasks on one or more devices, each device one task at a time.
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/run_report.hpp>

#include "base/guard.hpp"
#include "base/stop.hpp"
#include "suite/outcome.hpp"

namespace cupilot {
namespace {

struct SuiteRun {
  const SuiteOptions& options;
  const Suite& suite;
  std::mutex mutex{};                      // of what follows
  std::deque<const SuiteTask*> waiting{};  // to be run in this sitting
  std::vector<std::string> lost{};         // devices that ended, with the reason
  std::optional<Error> failure{};          // of the last of them
};

SortedJson settings_json(const SuiteOptions& options, const Suite& suite) {
  return {{"cupilot_suite_run", 1},
          {"suite", options.suite},
          {"source", suite.source},
          {"seconds_per_task", options.seconds_per_task},
          {"evaluations", options.evaluations},
          {"seed", options.seed},
          {"against", options.against}};
}

bool has_begun(const std::string& run_dir) {
  for (const char* folder : {"/outcomes", "/tasks"}) {
    const auto files = real_host().list(run_dir + folder);
    if (files && !files->empty()) return true;
  }
  return false;
}

// The settings of a directory in which a search was begun, or those of this call, which are kept.
Result<void> settle(const SuiteOptions& options, const Suite& suite) {
  Host& host = real_host();
  const SortedJson wanted = settings_json(options, suite);
  const std::string path = settings_path(options.run_dir);
  if (host.exists(options.run_dir + "/journal"))
    return Error{ErrorCode::usage, options.run_dir + " holds a run of one task",
                 "choose another --run directory"};
  if (!host.exists(path) || !has_begun(options.run_dir)) {
    for (const char* folder : {"/outcomes", "/tasks"}) {
      if (auto made = host.make_directories(options.run_dir + folder); !made) return made;
    }
    return host.write_file_atomically(path, wanted.dump(1) + "\n", true);
  }
  auto text = host.read_file(path);
  if (!text) return text.error();
  const SortedJson kept = SortedJson::parse(*text, nullptr, false);
  for (const auto& [name, value] : wanted.items()) {
    if (kept.is_object() && kept.contains(name) && kept.at(name) == value) continue;
    const std::string was =
        kept.is_object() && kept.contains(name) ? kept.at(name).dump() : "not recorded";
    return Error{
        ErrorCode::usage,
        fmt::format("{} was begun with {} {}, not {}", options.run_dir, name, was, value.dump()),
        "give the same settings, or another --run"};
  }
  return {};
}

// The suite with each row beside another right after it.
Result<Suite> load_rows(const std::string& name) {
  auto suite = load_suite(name);
  if (!suite) return suite;
  std::vector<SuiteTask> tasks;
  std::size_t next = 0;
  for (SuiteTask& task : suite->tasks) {
    const std::string prefix = task.word + "@";
    tasks.push_back(std::move(task));
    while (next < suite->beside.size() && suite->beside[next].word.starts_with(prefix))
      tasks.push_back(std::move(suite->beside[next++]));
  }
  suite->tasks = std::move(tasks);
  suite->beside.clear();
  return suite;
}

Result<std::vector<const SuiteTask*>> chosen(const Suite& suite,
                                             const std::vector<std::string>& only) {
  const std::set<std::string> wanted(only.begin(), only.end());
  std::set<std::string> known;
  std::vector<const SuiteTask*> tasks;
  for (const SuiteTask& task : suite.tasks) {
    const std::string id = row_of(task).id;
    known.insert(id);
    if (wanted.empty() || wanted.contains(id)) tasks.push_back(&task);
  }
  for (const std::string& id : wanted) {
    if (known.contains(id)) continue;
    return Error{ErrorCode::usage, fmt::format("{} has no task '{}'", suite.name, id.substr(0, 60)),
                 fmt::format("`cupilot tasks --suite {}` lists them", suite.name)};
  }
  return tasks;
}

EvolveOptions options_of(const SuiteRun& run, const SuiteTask& task, const std::string& device) {
  EvolveOptions options;
  options.search.seed = run.options.seed;
  options.search.max_evaluations = run.options.evaluations;
  options.max_seconds = run.options.seconds_per_task;
  options.against = run.options.against;
  options.pool = run.options.pool;
  options.task_words = {task.word};
  options.device_name = device;
  options.worker_path = run.options.backend.worker_path;
  options.run_dir = task_dir(run.options.run_dir, row_of(task).id);
  options.cancel = run.options.cancel;
  return options;
}

// Goes on with a run that was interrupted on this device, else begins anew.
Result<EvolveReport> search(const SuiteRun& run, const SuiteTask& task, const std::string& name,
                            Backend& device) {
  EvolveOptions options = options_of(run, task, name);
  options.search.parallel =
      device.provenance() == Provenance::measured ? 0 : device.traits().parallel_compiles;
  const std::string dir = options.run_dir;
  if (real_host().exists(dir + "/journal")) {
    auto begun = read_run(dir);
    if (begun && begun->report.device == device.identity()) return resume(dir, device, options);
    // A beginning that cannot be read, or of another card: nothing of it can be used here.
    std::error_code failed;
    std::filesystem::remove_all(dir, failed);
    if (failed)
      return Error{ErrorCode::failure, dir + ": " + failed.message(), "remove it, and go on"};
  }
  return evolve(task.task, device, options);
}

bool is_cancelled(const SuiteRun& run) {
  return run.options.cancel != nullptr && run.options.cancel->load();
}

// Errors that every further task would meet as well.
bool ends_device(const Error& error) {
  return error.code == ErrorCode::no_device || error.code == ErrorCode::toolchain;
}

void tell(SuiteRun& run, const SuiteRow& row, const std::string& device) {
  const std::lock_guard lock(run.mutex);
  if (run.options.on_task) run.options.on_task(row, device);
}

// One task from its beginning to its outcome. Error: the device is of no more use.
Result<void> run_task(SuiteRun& run, const SuiteTask& task, const std::string& name,
                      Backend& device) {
  SuiteRow row = row_of(task);
  tell(run, row, name);
  const double began = real_host().monotonic_seconds();
  auto report = search(run, task, name, device);
  const double wall_seconds = real_host().monotonic_seconds() - began;
  if (is_cancelled(run)) return {};
  if (!report && ends_device(report.error())) return report.error();
  take_report(row, task.task, device, report, wall_seconds);
  const std::string path = outcome_path(run.options.run_dir, row.id);
  auto kept = real_host().write_file_atomically(path, row_json(row).dump(1) + "\n", true);
  if (!kept) return kept;
  tell(run, row, name);
  return {};
}

const SuiteTask* take_next(SuiteRun& run) {
  const std::lock_guard lock(run.mutex);
  if (is_cancelled(run) || run.waiting.empty()) return nullptr;
  const SuiteTask* task = run.waiting.front();
  run.waiting.pop_front();
  return task;
}

// Another device, or a later sitting, does its task.
void lose(SuiteRun& run, const std::string& device, const Error& error, const SuiteTask* task) {
  const std::lock_guard lock(run.mutex);
  if (task != nullptr) run.waiting.push_front(task);
  run.lost.push_back(device + ": " + error.message);
  run.failure = error;
}

void run_lane(SuiteRun& run, const std::string& name) {
  const StopScope stoppable({run.options.cancel});
  auto device = open_backend(name, run.options.backend);
  if (!device) return lose(run, name, device.error(), nullptr);
  while (const SuiteTask* task = take_next(run)) {
    auto done = guarded([&] { return run_task(run, *task, name, **device); });
    if (!done) return lose(run, name, done.error(), task);
  }
}

Result<void> run_lanes(SuiteRun& run) {
  if (run.waiting.empty()) return {};
  std::vector<std::thread> lanes;
  for (std::size_t i = 1; i < run.options.devices.size(); ++i)
    lanes.emplace_back([&run, i] { run_lane(run, run.options.devices[i]); });
  run_lane(run, run.options.devices.front());
  for (std::thread& lane : lanes) lane.join();
  if (run.failure && !run.waiting.empty()) return *run.failure;
  return {};
}

Result<SuiteReport> report_of(const std::string& run_dir, const Suite& suite,
                              const SortedJson& settings) {
  SuiteReport report;
  report.suite = suite.name;
  report.source = suite.source;
  report.settings = settings.dump();
  for (const SuiteTask& task : suite.tasks) {
    SuiteRow row = row_of(task);
    const std::string path = outcome_path(run_dir, row.id);
    if (!real_host().exists(path)) {
      report.rows.push_back(std::move(row));
      continue;
    }
    auto text = real_host().read_file(path);
    if (!text) return text.error();
    auto kept = row_from(*text, path);
    if (!kept) return kept.error();
    report.rows.push_back(std::move(*kept));
  }
  summarise(report);
  return report;
}

}  // namespace

Result<SuiteReport> run_suite(const SuiteOptions& options) {
  return guarded([&]() -> Result<SuiteReport> {
    if (options.devices.empty() || options.run_dir.empty())
      return Error{ErrorCode::usage, "a suite's run needs a device and a directory", ""};
    if (auto known = check_contestants(options.against); !known) return known.error();
    auto suite = load_rows(options.suite);
    if (!suite) return suite.error();
    auto tasks = chosen(*suite, options.only);
    if (!tasks) return tasks.error();
    if (auto settled = settle(options, *suite); !settled) return settled.error();
    auto lock = real_host().lock(options.run_dir + "/lock");
    if (!lock) return lock.error();
    std::erase_if(*tasks, [&](const SuiteTask* task) {
      return real_host().exists(outcome_path(options.run_dir, row_of(*task).id));
    });
    SuiteRun run{options, *suite};
    run.waiting.assign(tasks->begin(), tasks->end());
    if (auto done = run_lanes(run); !done) return done.error();
    auto report = report_of(options.run_dir, *suite, settings_json(options, *suite));
    if (report) report->notices = run.lost;
    return report;
  });
}

Result<SuiteReport> read_suite_run(const std::string& run_dir) {
  return guarded([&]() -> Result<SuiteReport> {
    auto text = real_host().read_file(settings_path(run_dir));
    if (!text) {
      return Error{ErrorCode::usage, run_dir + " is no run of a suite: " + text.error().message,
                   "begin one with `cupilot suite NAME --run DIR`"};
    }
    const SortedJson settings = SortedJson::parse(*text, nullptr, false);
    if (!settings.is_object() || !settings.contains("suite") || !settings["suite"].is_string())
      return Error{ErrorCode::usage, settings_path(run_dir) + " names no suite", ""};
    auto suite = load_rows(settings["suite"].get<std::string>());
    if (!suite) return suite.error();
    return report_of(run_dir, *suite, settings);
  });
}

}  // namespace cupilot
