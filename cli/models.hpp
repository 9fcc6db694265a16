// Models as the program opens them. Of the environment it reads the variables that the models file
// names for keys, and HTTPS_PROXY, ALL_PROXY and NO_PROXY in capitals or not.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <cupilot/chat.hpp>
#include <cupilot/parts/models.hpp>

namespace cupilot::cli {

Result<ModelsConfig> read_models_file(const std::string& path);

// The tape stands in the run directory, which is made. `notice` is called from any thread.
Result<std::unique_ptr<ChatClient>> open_models_file(
    const std::string& path, const std::string& run_dir, std::uint64_t seed,
    std::function<void(const std::string&)> notice);

std::string tape_path(const std::string& run_dir);

}  // namespace cupilot::cli
