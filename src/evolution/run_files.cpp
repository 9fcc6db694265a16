#include "evolution/run_files.hpp"

#include <cupilot/resolved_plan.hpp>

#include "evolution/records.hpp"

namespace cupilot {
namespace {

std::string blob_path(const std::string& run_dir, const std::string& kernel_id) {
  return run_dir + "/blobs/" + kernel_id + ".cu";
}

}  // namespace

Result<void> keep_source(Host& host, const std::string& run_dir, const Candidate& candidate,
                         const std::vector<std::string>& task_words) {
  if (candidate.kernel_id.empty() || candidate.source.text.empty()) return {};
  const std::string path = blob_path(run_dir, candidate.kernel_id);
  if (host.exists(path)) return {};
  if (auto made = host.make_directories(run_dir + "/blobs"); !made) return made;
  // A text of free form cannot be had again; what a template wrote can.
  const bool synced = candidate.source.template_name.empty();
  return host.write_file_atomically(path, standalone_text(candidate.source, task_words), synced);
}

Result<KernelSource> kept_source(const std::string& run_dir, const std::string& kernel_id) {
  auto kept = read_standalone(blob_path(run_dir, kernel_id));
  if (!kept) return kept.error();
  return std::move(kept->source);
}

Result<void> write_best(Host& host, const std::string& run_dir, const Task& task, const Backend& backend, const Best& best,
                        const CompiledKernel& kernel, const std::vector<std::string>& task_words) {
  const std::string folder = run_dir + "/best/";
  if (auto made = host.make_directories(folder); !made) return made;
  struct File {
    std::string name, text;
  };
  std::vector<File> files = {{"kernel.cu", standalone_text(best.candidate.source, task_words)},
                             {"launch.json", launch_plan_to_json(best.candidate.source.plan) + "\n"},
                             {"strategy.json", strategy_to_json(best.candidate.strategy) + "\n"},
                             {"evidence.json", evidence_json(best, task, backend.identity())}};
  // A device that spans its own space runs no kernel that could be launched.
  if (backend.techniques().empty()) {
    auto text = launcher_text(task, backend.device(), kernel);
    if (!text) return text.error();
    files.push_back({"main.cpp", std::move(*text)});
    files.push_back({"Makefile", launcher_makefile()});
  }
  for (const File& file : files) {
    if (auto written = host.write_file_atomically(folder + file.name, file.text, true); !written) return written;
  }
  return {};
}

}  // namespace cupilot
