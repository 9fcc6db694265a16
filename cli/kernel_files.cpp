#include "kernel_files.hpp"

#include <algorithm>
#include <filesystem>

#include <cupilot/family.hpp>
#include <cupilot/parts/host.hpp>

namespace cupilot::cli {
namespace {

// A task file that a kernel's file names lies beside it, else where the reader stands.
std::vector<std::string> found_beside(const std::string& kernel, std::vector<std::string> words) {
  if (words.size() != 1 || !words[0].ends_with(".json")) return words;
  const std::string beside = std::filesystem::path(kernel).parent_path() / words[0];
  if (real_host().exists(beside)) words[0] = beside;
  return words;
}

}  // namespace

Result<OwnKernel> open_kernel(const std::string& path, const KernelFlags& flags) {
  Result<StandaloneKernel> read = read_standalone(path);
  if (!read) return std::move(read.error());
  OwnKernel kernel{path, std::move(read->source)};
  if (const Result<std::string> whole = real_host().read_file(path)) {
    kernel.header_lines =
        static_cast<int>(std::count(whole->begin(), whole->end(), '\n') -
                         std::count(kernel.source.text.begin(), kernel.source.text.end(), '\n'));
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
