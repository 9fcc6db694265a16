#include "device.hpp"

#include <cstdlib>

namespace cupilot::cli {

std::string peaks_path() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/')
    return std::string(data) + "/cupilot/peaks.json";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.local/share/cupilot/peaks.json" : "";
}

BackendOptions backend_options(int compile_jobs) {
  BackendOptions options;
  options.compile_jobs = compile_jobs;
  options.peaks_file = peaks_path();
  if (const char* worker = std::getenv("CUPILOT_WORKER")) options.worker_path = worker;
  return options;
}

Result<std::unique_ptr<Backend>> open_device(const std::string& name, int compile_jobs, bool counters) {
  BackendOptions options = backend_options(compile_jobs);
  options.counters = counters;
  return open_backend(name, options);
}

Result<std::unique_ptr<Backend>> open_proving_device(const std::string& name, const std::string& verb) {
  auto backend = open_device(name);
  if (!backend || (*backend)->runs()) return backend;
  return Error{ErrorCode::usage, verb + " --device " + name + ": it answers a search and runs nothing, so it proves nothing",
               "use cuda:0, or virtual:h200"};
}

}  // namespace cupilot::cli
