#include "models.hpp"

#include <cstdlib>

#include "device.hpp"

namespace cupilot::cli {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::string() : value;
}

// The first of them that is set.
std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = variable(name); !value.empty()) return value;
  }
  return {};
}

}  // namespace

std::string tape_path(const std::string& run_dir) { return run_dir + "/tape.jsonl"; }

Result<ModelsConfig> read_models_file(const std::string& path) {
  auto text = real_host().read_file(path);
  if (!text)
    return Error{ErrorCode::usage, "--models: " + text.error().message,
                 "docs/formats/models.md shows one"};
  return read_models(*text, path);
}

Result<std::unique_ptr<ChatClient>> open_models_file(
    const std::string& path, const std::string& run_dir, std::uint64_t seed,
    std::function<void(const std::string&)> notice) {
  auto config = read_models_file(path);
  if (!config) return config.error();
  if (auto made = real_host().make_directories(run_dir); !made) return made.error();
  ModelOptions options;
  options.tape = tape_path(run_dir);
  options.environment = variable;
  options.proxy = first_of({"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"});
  options.no_proxy = first_of({"NO_PROXY", "no_proxy"});
  options.seed = seed;
  options.notice = std::move(notice);
  options.worker_path = backend_options().worker_path;
  return open_models(*config, options);
}

}  // namespace cupilot::cli
