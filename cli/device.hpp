// Devices as the program opens them. Of the environment it reads CUPILOT_WORKER, the path of cupilot-worker.
#pragma once

#include <memory>
#include <string>

#include <cupilot/backend.hpp>

namespace cupilot::cli {

BackendOptions backend_options(int compile_jobs = 0);
Result<std::unique_ptr<Backend>> open_device(const std::string& name, int compile_jobs = 0);

}  // namespace cupilot::cli
