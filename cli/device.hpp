// Devices as the program opens them. Of the environment it reads CUPILOT_WORKER, the path of cupilot-worker, and for the file of
// measured peaks XDG_DATA_HOME and HOME.
#pragma once

#include <memory>
#include <string>

#include <cupilot/backend.hpp>

namespace cupilot::cli {

// Where the program keeps measured peaks: cupilot/peaks.json in the user's data folder; "" where there is none.
std::string peaks_path();
BackendOptions backend_options(int compile_jobs = 0);
Result<std::unique_ptr<Backend>> open_device(const std::string& name, int compile_jobs = 0, bool counters = true);
// For `verb`, which proves what it is given. Error usage: the device runs nothing.
Result<std::unique_ptr<Backend>> open_proving_device(const std::string& name, const std::string& verb);

}  // namespace cupilot::cli
