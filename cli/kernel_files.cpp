#include "kernel_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/agents.hpp>
#include <cupilot/parts/capture.hpp>
#include <cupilot/parts/host.hpp>
#include <cupilot/parts/program.hpp>
#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/parts/tunable.hpp>

#include "own_includes.hpp"
#include "own_strategy.hpp"

namespace cupilot::cli {
namespace {

// OwnKernel::first_line of a text that stands in no file.
constexpr int written = std::numeric_limits<int>::max();

int lines_in(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

// A task file that a kernel's file names lies beside it, else where the reader stands.
std::vector<std::string> found_beside(const std::string& kernel, std::vector<std::string> words) {
  if (words.size() != 1 || !words[0].ends_with(".json")) return words;
  const std::string beside = std::filesystem::path(kernel).parent_path() / words[0];
  if (real_host().exists(beside)) words[0] = beside;
  return words;
}

bool is_tunable(const std::string& path) {
  const Result<std::string> begin = real_host().read_part(path, 0, 32);
  return begin && begin->starts_with("/* cupilot tunable ");
}

Result<std::map<std::string, std::int64_t>> settings_from(const std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> settings;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const char *begin = word.data() + std::min(equals + 1, word.size()),
               *end = word.data() + word.size();
    std::int64_t value = 0;
    const auto read = std::from_chars(begin, end, value);
    if (read.ec != std::errc() || read.ptr != end || equals == 0)
      return Error{ErrorCode::usage, "--set " + word + ": is not NAME=VALUE with a whole number",
                   "such as --set BLOCK=128"};
    if (!settings.emplace(word.substr(0, equals), value).second)
      return Error{ErrorCode::usage, "--set " + word + ": the parameter is set twice",
                   "keep one of them"};
  }
  return settings;
}

// The tunable in a file, or else the task's template of that name; each with the task's hooks.
Result<Tunable> tunable_named(const std::string& path, const Families& families, const Task& task) {
  if (!real_host().exists(path)) {
    for (Tunable& one : templates_of(families, task)) {
      if (one.name == path && serves(one, task)) return std::move(one);
    }
  }
  Result<Tunable> read = load_tunable(path);
  if (!read || read->anchor.empty()) return read;
  Family alone;
  alone.templates = {*read};
  for (Tunable& made : templates_of({alone}, task)) {
    if (serves(made, task)) return std::move(made);
  }
  return read;
}

// The task is stated by --task: a tunable's file states a family.
Result<OwnKernel> open_tunable(const std::string& path, const KernelFlags& flags,
                               const DeviceSpec& device) {
  if (flags.task.empty())
    return Error{ErrorCode::usage,
                 path + ": a tunable makes a kernel for a task, and none is stated",
                 "say it with --task"};
  const Result<Families> families = load_families(flags.common.families);
  if (!families) return families.error();
  Result<Task> task = task_from_words(flags.task, *families);
  if (!task) return task.error();
  const auto settings = settings_from(flags.set);
  if (!settings) return settings.error();
  const Result<Tunable> tunable = tunable_named(path, *families, *task);
  if (!tunable) return tunable.error();
  if (!serves(*tunable, *task) && !tunable->anchor.empty())
    return Error{ErrorCode::usage,
                 path + ": it serves graphs of anchor '" + tunable->anchor + "'; task " +
                     task->name + " has no such form, or a family of its own",
                 "docs/formats/tunable.md, Hooks, lists the forms"};
  if (!serves(*tunable, *task))
    return Error{ErrorCode::usage,
                 path + ": it serves family '" + tunable->family + "' under its `when`; task " +
                     task->name + " is of family '" + task->family + "', class " +
                     std::string(name_of(task->precision)),
                 "give a tunable made for such a task"};
  Result<KernelSource> source = instantiate(*tunable, *task, device, *settings);
  if (!source) return source.error();
  OwnKernel kernel{path, std::move(*source), std::move(*task)};
  kernel.first_line = written;
  // Both texts end alike.
  if (const Result<std::string> whole = real_host().read_file(path)) {
    kernel.header_lines = lines_in(*whole) - lines_in(kernel.source.text);
    kernel.first_line = lines_in(*whole) - lines_in(tunable->text) + 1;
  }
  kernel.text = kernel.source.text;
  return kernel;
}

// The kernel, or the program, of a strategy's file.
Result<OwnKernel> open_written(const std::string& path, const KernelFlags& flags,
                               const DeviceSpec& device) {
  Result<OwnStrategy> own = open_strategy(path, flags, device);
  if (!own) return own.error();
  const TaskRef task(own->task);
  const Strategy& taken = own->fitted.empty() ? own->strategy : own->fitted.front();
  note_taken(*own, taken);
  WriterBrief brief{task, &taken, &device};
  Attempt<KernelSource> source = program_writer(own->task, own->families)->write(brief);
  if (source.is_error()) return source.error();
  if (source.is_rejected())
    return Error{ErrorCode::usage, path + ": " + source.rejected().message,
                 "give a strategy of this task and device, as best/strategy.json of a run is"};
  OwnKernel kernel{path, std::move(*source), std::move(own->task)};
  kernel.text = kernel.source.text;
  kernel.first_line = written;
  return kernel;
}

// The plan's only launch is one of `entry`; of several launches, one must be.
std::optional<Error> choose_entry(LaunchPlan& plan, const std::string& entry) {
  if (entry.empty()) return std::nullopt;
  std::string known;
  for (const PlanLaunch& launch : plan.launches) {
    if (launch.entry == entry) return std::nullopt;
    known += (known.empty() ? "" : ", ") + launch.entry;
  }
  if (plan.launches.size() == 1) {
    plan.launches.front().entry = entry;
    return std::nullopt;
  }
  return Error{ErrorCode::usage, "--entry " + entry + ": the plan launches no such kernel",
               "its launches are of " + known};
}

// A binary's PTX comes without a header.
Result<StandaloneKernel> read_text_or_binary(const std::string& path, const KernelFlags& flags,
                                             const DeviceSpec& device) {
  if (!is_binary(path)) return read_standalone(path);
  Result<std::string> text =
      embedded_ptx(path, flags.entry, device.compute_major * 10 + device.compute_minor);
  if (!text) return std::move(text.error());
  StandaloneKernel kernel;
  kernel.source.language = Language::ptx;
  kernel.source.text = std::move(*text);
  return kernel;
}

}  // namespace

Result<OwnKernel> open_kernel(const std::string& path, const KernelFlags& flags,
                              const DeviceSpec& device) {
  if (!flags.entry.empty() && is_tunable(path))
    return Error{ErrorCode::usage, path + ": --entry: a tunable has one kernel",
                 "leave --entry out"};
  const bool named = !flags.task.empty() && path.find_first_of("./") == std::string::npos &&
                     !real_host().exists(path);
  if (named || is_tunable(path)) return open_tunable(path, flags, device);
  if (!flags.set.empty())
    return Error{ErrorCode::usage, path + ": --set: the file is no tunable and has no parameters",
                 "give a tunable (docs/formats/tunable.md), or leave --set out"};
  if (is_strategy(path)) return open_written(path, flags, device);
  Result<StandaloneKernel> read = read_text_or_binary(path, flags, device);
  if (!read) return std::move(read.error());
  OwnKernel kernel{path, std::move(read->source)};
  if (const Result<std::string> whole = real_host().read_file(path)) {
    kernel.header_lines = lines_in(*whole) - lines_in(kernel.source.text);
  }
  kernel.text = kernel.source.text;
  if (kernel.source.language == Language::cuda) {
    auto whole = with_own_includes(kernel.text, path, flags.include);
    if (!whole) return std::move(whole.error());
    kernel.source.text = std::move(*whole);
  }
  if (!flags.launch.empty()) {
    const Result<std::string> text = real_host().read_file(flags.launch);
    if (!text) return Error{ErrorCode::usage, text.error().message, text.error().hint};
    Result<LaunchPlan> plan = launch_plan_from_json(*text);
    if (!plan) return std::move(plan.error()).while_doing(flags.launch);
    kernel.source.plan = std::move(*plan);
  }
  if (kernel.source.plan.launches.empty())
    return Error{ErrorCode::usage, path + ": no launch plan",
                 "say it in the file's `// cupilot:` header (docs/formats/kernel-file.md), or with "
                 "--launch FILE"};
  if (auto wrong = choose_entry(kernel.source.plan, flags.entry)) return std::move(*wrong);
  const std::vector<std::string> words =
      flags.task.empty() ? found_beside(path, read->task_words) : flags.task;
  if (!words.empty()) {
    const Result<Families> families = load_families(flags.common.families);
    if (!families) return families.error();
    Result<Task> task = task_from_words(words, *families);
    if (!task) return std::move(task.error());
    kernel.task = std::move(*task);
  }
  return kernel;
}

}  // namespace cupilot::cli
