#include "device.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

namespace cupilot::cli {

std::string user_path(const char* variable, const char* beside, const char* name) {
  if (const char* folder = std::getenv(variable); folder != nullptr && folder[0] == '/')
    return std::string(folder) + "/" + name;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/" + beside + "/" + name : "";
}

std::string peaks_path() {
  return user_path("XDG_DATA_HOME", ".local/share", "cupilot/peaks.json");
}

std::string compile_cache_path() {
  const char* chosen = std::getenv("CUPILOT_COMPILE_CACHE");
  if (chosen == nullptr || chosen[0] == '\0')
    return user_path("XDG_CACHE_HOME", ".cache", "cupilot/compiled");
  return chosen == std::string_view("off") ? "" : chosen;
}

std::string python_path() {
  if (const char* chosen = std::getenv("CUPILOT_PYTHON"); chosen != nullptr && chosen[0] != '\0')
    return chosen;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/python3";
    if (folder[0] == '/' && access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

// cuDNN's names: that of CUPILOT_CUDNN, where it says "auto" the loader's, then that of the Python
// packages of `python`; none where it is not set.
std::vector<std::string> cudnn_names(const std::string& python) {
  namespace fs = std::filesystem;
  const char* const chosen = std::getenv("CUPILOT_CUDNN");
  if (chosen == nullptr || chosen[0] == '\0') return {};
  if (chosen != std::string_view("auto")) return {chosen};
  std::vector<std::string> names{"libcudnn.so.9"};
  std::error_code ignored;
  if (python.empty()) return names;
  const auto add = [&](const fs::path& folder) {
    for (const auto& library : fs::directory_iterator(folder, ignored)) {
      if (!library.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path file = library.path() / packages / "nvidia/cudnn/lib/libcudnn.so.9";
        if (fs::exists(file, ignored)) names.push_back(file);
      }
    }
  };
  // A prefix has lib/python3.11/site-packages; a distribution's own has packages in local too.
  for (const fs::path& program : {fs::path(python), fs::weakly_canonical(python, ignored)}) {
    const fs::path prefix = program.parent_path().parent_path();
    add(prefix / "lib");
    add(prefix / "local/lib");
  }
  return names;
}

BackendOptions backend_options(int compile_jobs) {
  BackendOptions options;
  options.compile_jobs = compile_jobs;
  options.peaks_file = peaks_path();
  options.compile_cache = compile_cache_path();
  if (const char* worker = std::getenv("CUPILOT_WORKER")) options.worker_path = worker;
  options.python = python_path();
  options.cudnn = cudnn_names(options.python);
  for (char** variable = environ; *variable != nullptr; ++variable)
    options.python_environment.emplace_back(*variable);
  return options;
}

Result<std::unique_ptr<Backend>> open_device(const std::string& name, int compile_jobs,
                                             bool counters, const Families& families) {
  BackendOptions options = backend_options(compile_jobs);
  options.counters = counters;
  for (const Family& family : families) {
    if (!family.built_in && family.library) options.library_calls.push_back(*family.library);
  }
  return open_backend(name, options);
}

namespace {

Result<std::unique_ptr<Backend>> proving(Result<std::unique_ptr<Backend>> backend,
                                         const std::string& name, const std::string& verb) {
  if (!backend || (*backend)->traits().runs) return backend;
  return Error{
      ErrorCode::usage,
      verb + " --device " + name + ": it answers a search and runs nothing, so it proves nothing",
      "use cuda:0, or virtual:h200"};
}

}  // namespace

Result<std::unique_ptr<Backend>> open_proving_device(const std::string& name,
                                                     const std::string& verb,
                                                     const Families& families) {
  return proving(open_device(name, 0, true, families), name, verb);
}

Result<std::unique_ptr<Backend>> open_own_device(const std::string& name, const std::string& verb,
                                                 const OwnRules& rules, bool counters) {
  BackendOptions options = backend_options();
  options.counters = counters;
  auto backend = open_for_own(name, options, rules);
  return verb.empty() ? std::move(backend) : proving(std::move(backend), name, verb);
}

}  // namespace cupilot::cli
