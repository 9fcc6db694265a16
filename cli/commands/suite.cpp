// `cupilot suite`: the tasks of a suite one after another, on every GPU, and their table.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <thread>

#include <cupilot/parts/host.hpp>
#include <cupilot/parts/peaks.hpp>
#include <cupilot/parts/suite.hpp>

#include "commands/verbs.hpp"
#include "device.hpp"
#include "screens/say.hpp"
#include "signals.hpp"
#include "steering.hpp"

namespace cupilot::cli {
namespace {

constexpr std::uintmax_t most_packed = 16 << 20;

// The names of a list, and for "auto" all CUDA devices, else the virtual one that stands in.
std::vector<std::string> devices_of(const std::string& typed) {
  std::vector<std::string> names;
  std::istringstream list(typed);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  if (typed != "auto") return names;
  names.clear();
  for (int i = 0; std::filesystem::exists("/dev/nvidia" + std::to_string(i)); ++i)
    names.push_back("cuda:" + std::to_string(i));
  return names.empty() ? std::vector<std::string>{"auto"} : names;
}

// Measures what a GPU sustains, and keeps it; nothing of another device, nor of one known already.
Result<void> measure_peaks(const std::string& name, FILE* screen) {
  if (!name.starts_with("cuda:")) return {};
  const auto backend = open_device(name);
  if (!backend) return backend.error();
  if (!(*backend)->device().ceilings.empty()) return {};
  show(screen, fmt::format("measuring what {} sustains, as `cupilot peaks` does …", name));
  const auto peaks = (*backend)->inspector().peaks();
  if (!peaks) return peaks.error();
  return peaks->measured && !peaks_path().empty() ? save_peaks(*peaks, peaks_path())
                                                  : Result<void>();
}

Result<void> run_tar(std::vector<std::string> words) {
  std::vector<char*> arguments;
  words.insert(words.begin(), "tar");
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  const int failed = posix_spawnp(&child, "tar", nullptr, nullptr, arguments.data(), environ);
  if (failed == 0) waitpid(child, &status, 0);
  if (failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{ErrorCode::failure, "tar did not succeed", "install tar and xz"};
}

// Settings, outcomes, the pool and champions; searches under way begin anew elsewhere.
Result<void> pack(const std::string& run_dir, const std::string& file) {
  std::vector<std::string> words = {"-cJf", file, "-C", run_dir, "suite.json", "outcomes"};
  if (real_host().exists(run_dir + "/pool.sqlite")) words.emplace_back("pool.sqlite");
  const auto tasks = real_host().list(run_dir + "/tasks");
  for (const std::string& id : tasks ? *tasks : std::vector<std::string>()) {
    const std::string best = "tasks/" + id + "/best";
    const bool ended = real_host().exists(run_dir + "/outcomes/" + id + ".json");
    if (ended && real_host().exists(run_dir + "/" + best)) words.push_back(best);
  }
  if (auto packed = run_tar(std::move(words)); !packed) return packed;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  if (!unknown && bytes <= most_packed) return {};
  std::filesystem::remove(file, unknown);
  return Error{ErrorCode::failure,
               fmt::format("{} would be {:.1f} MiB, more than 16", file,
                           static_cast<double>(bytes) / (1 << 20)),
               "copy the run directory itself"};
}

Result<void> unpack(const std::string& file, const std::string& run_dir) {
  if (real_host().exists(run_dir + "/suite.json")) {
    return Error{ErrorCode::usage, run_dir + " holds a run already",
                 "leave out --unpack to go on with it, or name another --run"};
  }
  if (auto made = real_host().make_directories(run_dir); !made) return made;
  return run_tar({"-xJf", file, "-C", run_dir});
}

std::string row_line(const SuiteRow& row, const std::string& device) {
  if (!row.ended) return fmt::format("{} {} on {} …", row.id, row.title, device);
  if (!row.error.empty())
    return fmt::format("{} {}: {} ({:.1f} s)", row.id, row.title, row.error, row.seconds);
  std::string text = fmt::format("{} {}: {} {}, {:.0f} % of the floor", row.id, row.title,
                                 time_text(row.time_us), row.provenance, 100 * floor_share(row));
  for (const SuiteTime& time : row.times) {
    if (time.ratio > 0)
      text +=
          fmt::format(", {:.2f} [{:.2f}, {:.2f}] x {}", time.ratio, time.low, time.high, time.name);
  }
  return text + fmt::format(" ({:.1f} s)", row.seconds);
}

// The tasks that have ended, those apart at the end.
std::string rows_text(const SuiteReport& report) {
  std::vector<std::string> names;
  for (const SuiteRow& row : report.rows) {
    for (const SuiteTime& time : row.times) {
      if (std::find(names.begin(), names.end(), time.name) == names.end())
        names.push_back(time.name);
    }
  }
  std::vector<std::vector<std::string>> rows = {{"id", "task", "proved", "time", "of floor"}};
  rows[0].insert(rows[0].end(), names.begin(), names.end());
  for (const bool apart : {false, true}) {
    for (const SuiteRow& row : report.rows) {
      if (!row.ended || row.apart.empty() == apart) continue;
      std::vector<std::string> cells = {row.id, row.title + (apart ? " (apart)" : ""), row.proved,
                                        row.error.empty() ? time_text(row.time_us) : row.error,
                                        fmt::format("{:.0f} %", 100 * floor_share(row))};
      for (const std::string& name : names) {
        const SuiteTime* time = time_against(row, name);
        cells.push_back(
            time == nullptr || time->ratio <= 0
                ? "-"
                : fmt::format("{:.2f} [{:.2f}, {:.2f}]", time->ratio, time->low, time->high));
      }
      rows.push_back(std::move(cells));
    }
  }
  return rows.size() > 1 ? table(rows) : "no task has ended";
}

// The means as a table; those of families stand in the page.
std::string means_text(const SuiteReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"against", "tasks of", "tasks", "geometric", "arithmetic", "faster", "slower"}};
  for (const SuiteMean& m : report.means) {
    if (m.group.starts_with("family")) continue;
    rows.push_back({m.against, m.group, std::to_string(m.tasks),
                    fmt::format("{:.3f} [{:.3f}, {:.3f}]", m.geometric, m.low, m.high),
                    fmt::format("{:.3f}", m.arithmetic), std::to_string(m.faster),
                    std::to_string(m.slower)});
  }
  return table(rows);
}

Result<void> write_texts(const std::string& run_dir, const SuiteReport& report) {
  const std::pair<const char*, std::string> files[] = {{"/results.json", suite_json(report)},
                                                       {"/results.csv", suite_csv(report)},
                                                       {"/index.html", suite_page(report)},
                                                       {"/results.md", suite_markdown(report)}};
  for (const auto& [name, text] : files) {
    if (auto done = real_host().write_file_atomically(run_dir + name, text, false); !done)
      return done;
  }
  return {};
}

int finish_suite(const Result<SuiteReport>& report, const SuiteFlags& flags) {
  if (!report) return fail(report.error(), flags.common.json);
  if (auto written = write_texts(flags.run_dir, *report); !written)
    return fail(written.error(), flags.common.json);
  if (!flags.pack.empty()) {
    if (auto packed = pack(flags.run_dir, flags.pack); !packed)
      return fail(packed.error(), flags.common.json);
  }
  if (flags.common.json) {
    say(suite_json(*report));
    return 0;
  }
  say("\n" + rows_text(*report));
  if (!report->means.empty()) say("\n" + means_text(*report));
  for (const std::string& notice : report->notices) say("note: " + notice);
  say(fmt::format(
      "\n{}: {} of {} tasks solved, {} ended; median share of the floor {:.1f} %\n{}/index.html, "
      "results.csv, results.json, results.md",
      report->suite, report->solved, report->tasks, report->ended, 100 * report->median_floor_share,
      flags.run_dir));
  return 0;
}

}  // namespace

int suite_command(const SuiteFlags& flags) {
  const bool json = flags.common.json;
  if (!flags.unpack.empty()) {
    if (auto unpacked = unpack(flags.unpack, flags.run_dir); !unpacked)
      return fail(unpacked.error(), json);
  }
  if (flags.suite.empty()) return finish_suite(read_suite_run(flags.run_dir), flags);
  SuiteOptions options;
  options.suite = flags.suite;
  options.only = flags.only;
  options.devices = devices_of(flags.common.device);
  options.seconds_per_task = flags.seconds;
  options.evaluations = flags.evaluations;
  options.seed = flags.seed;
  options.against = flags.against;
  options.run_dir = flags.run_dir;
  options.pool = pool_anywhere(pool_of(flags));
  // Devices share the processors that compile.
  const int devices = static_cast<int>(options.devices.size());
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  options.backend = backend_options(devices > 1 ? std::max(2, processors / devices) : 0);
  options.on_task = [&](const SuiteRow& row, const std::string& device) {
    show(json ? stderr : stdout, row_line(row, device));
  };
  options.cancel = &watch_signals();
  leave_with(
      fmt::format("cupilot: stopped\n  next: the same command goes on in {0} where it stopped; "
                  "`cupilot suite --run {0}` shows what has ended\n",
                  flags.run_dir));
  const Ticker waiting = tell_waits("searching " + flags.suite);
  for (const std::string& name : options.devices) {
    if (options.cancel->load()) break;
    if (auto measured = measure_peaks(name, json ? stderr : stdout); !measured)
      show(stderr, "note: floors are told by typical rates: " + measured.error().message);
  }
  return finish_suite(run_suite(options), flags);
}

}  // namespace cupilot::cli
