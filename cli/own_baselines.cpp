#include "own_baselines.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <cupilot/parts/contestants.hpp>
#include <cupilot/parts/host.hpp>

#include "kernel_files.hpp"
#include "screens/capture.hpp"

namespace cupilot::cli {
namespace {

// True for a word of --against that names a file and no contestant.
bool is_path(const std::string& word) {
  return !is_contestant(word) &&
         (word.find_first_of("./") != std::string::npos || real_host().exists(word));
}

Result<OwnBaseline> from_capture(const CapturePath& path, const EvolveFlags& flags,
                                 const Task& task) {
  const Result<Capture> capture = read_capture(path.folder);
  if (!capture) return capture.error();
  const auto meant = meant_launches(*capture, path, flags.entry);
  if (!meant) return meant.error();
  if (meant->size() > 1) return one_launch(path, *meant, "a baseline is one");
  const CapturedLaunch& launch = *meant->front();
  auto kernel = captured_kernel(*capture, launch, task, flags.bind);
  if (!kernel) return std::move(kernel.error()).while_doing(path.folder);
  return OwnBaseline{fmt::format("{}: {}", path.folder, launch_text(launch)),
                     std::move(kernel->source), std::move(kernel->says)};
}

Result<OwnBaseline> from_file(const std::string& path, const EvolveFlags& flags,
                              const DeviceSpec& device) {
  KernelFlags own;
  own.common = flags.common;
  own.task = flags.task;
  own.entry = flags.entry;
  auto kernel = open_kernel(path, own, device);
  if (!kernel) return kernel.error();
  return OwnBaseline{path, std::move(kernel->source), ""};
}

}  // namespace

std::optional<CapturePath> capture_path(const std::string& path) {
  std::string folder = path;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (real_host().exists(folder + "/capture.jsonl")) return CapturePath{folder, 0};
  constexpr std::string_view mark = "/launch-";
  const std::size_t at = folder.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = folder.data() + folder.size();
  const auto read = std::from_chars(folder.data() + at + mark.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 1) return std::nullopt;
  folder.resize(at);
  if (!real_host().exists(folder + "/capture.jsonl")) return std::nullopt;
  return CapturePath{folder, number};
}

Result<std::vector<const CapturedLaunch*>> meant_launches(const Capture& capture,
                                                          const CapturePath& path,
                                                          const std::string& entry) {
  std::vector<const CapturedLaunch*> meant;
  for (const CapturedLaunch& one : capture.launches) {
    if (one.entry.find(entry) == std::string::npos) continue;
    if (path.launch == 0 || path.launch == one.number) meant.push_back(&one);
  }
  if (!meant.empty()) return meant;
  const std::string which = path.launch > 0 ? fmt::format(" {}", path.launch) : "";
  return Error{ErrorCode::not_done,
               fmt::format("{}: holds no launch{}{}", path.folder, which,
                           entry.empty() ? "" : " of a kernel with '" + entry + "' in its name"),
               "capture again: `cupilot capture -- PROGRAM` tells what it met and did not keep"};
}

Error one_launch(const CapturePath& path, const std::vector<const CapturedLaunch*>& meant,
                 const std::string& why) {
  std::string all;
  for (const CapturedLaunch* one : meant) all += "\n  " + launch_text(*one);
  return {ErrorCode::usage,
          fmt::format("{}: {} launches are meant, and {}:{}", path.folder, meant.size(), why, all),
          fmt::format("name one: {}/launch-{}, or --entry with a part of a kernel's name",
                      path.folder, meant.front()->number)};
}

Result<void> sort_words(EvolveFlags& flags) {
  const bool captured = flags.task.size() == 1 && capture_path(flags.task[0]).has_value();
  if (!captured && !flags.stated.empty())
    return Error{ErrorCode::usage,
                 fmt::format("{}: is no capture, and --task states the task of one",
                             flags.task.empty() ? "evolve" : flags.task[0]),
                 "give a folder of `cupilot capture`, or the task's words without --task"};
  if (captured && flags.stated.empty())
    return Error{ErrorCode::usage,
                 flags.task[0] + ": is a capture, and its launches do not say what they compute",
                 "state the task by --task: a family with its keys, or a task file"};
  if (captured) {
    flags.against.push_back(flags.task[0]);
    flags.task = std::move(flags.stated);
    flags.stated.clear();
  }
  const bool any = std::any_of(flags.against.begin(), flags.against.end(),
                               [](const auto& word) { return capture_path(word).has_value(); });
  if (!flags.entry.empty() && std::none_of(flags.against.begin(), flags.against.end(), is_path))
    return Error{ErrorCode::usage, "--entry: there is no capture and no kernel file to choose from",
                 "give one, or leave --entry out"};
  if (!any && !flags.bind.empty())
    return Error{ErrorCode::usage, "--bind: there is no capture whose arguments it could name",
                 "give a folder of `cupilot capture`, or leave --bind out"};
  return {};
}

Result<Against> open_against(const EvolveFlags& flags, const Task& task, const DeviceSpec& device) {
  Against out;
  std::set<std::string> names;
  for (const std::string& word : flags.against) {
    if (!is_path(word)) {
      out.contestants.push_back(word);
      continue;
    }
    const auto capture = capture_path(word);
    auto own = capture ? from_capture(*capture, flags, task) : from_file(word, flags, device);
    if (!own) return own.error();
    for (const char* taken : {"plain", "cublaslt", "cublaslt fp32"}) {
      if (own->name == taken)
        return Error{ErrorCode::usage,
                     fmt::format("--against {}: '{}' is the name of a baseline", word, own->name),
                     "say its path: ./" + own->name};
    }
    if (names.insert(own->name).second) out.own.push_back(std::move(*own));
  }
  return out;
}

}  // namespace cupilot::cli
