#include "device.hpp"

#include <cstdlib>

namespace cupilot::cli {

BackendOptions backend_options(int compile_jobs) {
  BackendOptions options;
  options.compile_jobs = compile_jobs;
  if (const char* worker = std::getenv("CUPILOT_WORKER")) options.worker_path = worker;
  return options;
}

Result<std::unique_ptr<Backend>> open_device(const std::string& name, int compile_jobs) {
  return open_backend(name, backend_options(compile_jobs));
}

}  // namespace cupilot::cli
