#include "evolution/journal/run_files.hpp"

#include <filesystem>

#include <fmt/format.h>

#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/parts/resolved_plan.hpp>

#include "evolution/journal/records.hpp"
#include "kernel/standalone.hpp"

namespace cupilot {
namespace {

// Words that say all of a task, or the file of best/: a path of the user's leads nowhere from
// another folder.
std::vector<std::string> words_in_best(const std::vector<std::string>& words) {
  return words.size() > 1 ? words : std::vector<std::string>{"task.json"};
}

std::string blob_path(const std::string& run_dir, const std::string& kernel_id) {
  return run_dir + "/blobs/" + kernel_id + ".cu";
}

std::string tunable_path(const std::string& run_dir, std::size_t at, const std::string& path) {
  return fmt::format("{}/tunables/{}-{}", run_dir, at + 1,
                     std::filesystem::path(path).filename().string());
}

}  // namespace

Result<void> keep_tunables(Host& host, const std::string& run_dir,
                           const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (auto made = host.make_directories(run_dir + "/tunables"); !made) return made;
    auto text = host.read_file(paths[i]);
    if (!text) return text.error();
    if (auto kept = host.write_file_atomically(tunable_path(run_dir, i, paths[i]), *text, true);
        !kept)
      return kept;
  }
  return {};
}

std::vector<std::string> kept_tunables(Host& host, const std::string& run_dir,
                                       std::vector<std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (std::string kept = tunable_path(run_dir, i, paths[i]); host.exists(kept))
      paths[i] = std::move(kept);
  }
  return paths;
}

Result<void> keep_source(Host& host, const std::string& run_dir, const Candidate& candidate,
                         const std::vector<std::string>& task_words) {
  if (candidate.kernel_id.empty() || candidate.source.text.empty()) return {};
  const std::string path = blob_path(run_dir, candidate.kernel_id);
  const std::string text = standalone_text(candidate.source, task_words);
  if (host.exists(path)) {
    // Not synced when it was written: after a crash it may be empty or torn.
    if (auto kept = host.read_file(path); kept && *kept == text) return {};
  }
  if (auto made = host.make_directories(run_dir + "/blobs"); !made) return made;
  // A text of free form cannot be had again; what a template wrote can.
  const bool synced = candidate.source.template_name.empty();
  return host.write_file_atomically(path, text, synced);
}

Result<KernelSource> kept_source(Host& host, const std::string& run_dir, const std::string& id) {
  const std::string path = blob_path(run_dir, id);
  auto text = host.read_file(path);
  if (!text) return text.error();
  auto kept = standalone_from(*text, path);
  if (!kept) return kept.error();
  if (kernel_id(kept->source) == id) return std::move(kept->source);
  return Error{ErrorCode::failure, path + " does not hold the kernel it is named after",
               "the journal and best/ still do"};
}

Result<void> write_best(Host& host, const std::string& run_dir, const Task& task,
                        const Backend& backend, const Best& best, const CompiledKernel& kernel,
                        const std::vector<std::string>& task_words) {
  const std::string folder = run_dir + "/best/";
  if (auto made = host.make_directories(folder); !made) return made;
  struct File {
    std::string name, text;
  };
  const bool launches = !best.candidate.source.plan.launches.empty();
  std::vector<File> files = {
      {"kernel.cu",
       standalone_text(best.candidate.source, launches ? words_in_best(task_words) : task_words)},
      {"launch.json", launch_plan_to_json(best.candidate.source.plan) + "\n"},
      {"strategy.json", program_strategy_to_json(parts_of(best.candidate.strategy)) + "\n"},
      {"evidence.json", evidence_json(best, task, backend.identity())}};
  // A launcher binds no textures.
  if (launches && best.candidate.source.plan.textures.empty()) {
    auto text = launcher_text(task, backend.device(), kernel);
    if (!text) return text.error();
    auto whole = task_to_json(task);
    if (!whole) return whole.error();
    files.push_back({"task.json", *whole + "\n"});
    files.push_back({"main.cpp", std::move(*text)});
    files.push_back({"Makefile", launcher_makefile(best.candidate.source.plan)});
  }
  for (const File& file : files) {
    if (auto written = host.write_file_atomically(folder + file.name, file.text, true); !written)
      return written;
  }
  return {};
}

}  // namespace cupilot
