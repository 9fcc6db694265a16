#include "steering.hpp"

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "device.hpp"

namespace cupilot::cli {
namespace {

// Empty when the user has no home, or it cannot be written.
std::string data_folder() {
  const std::string folder = user_path("XDG_DATA_HOME", ".local/share", "cupilot");
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  return failed ? "" : folder;
}

// The flag's pool, else the environment's, else the default one; "": none.
std::string pool_told(const std::string& flag, const std::function<std::string()>& otherwise) {
  const char* told = std::getenv("CUPILOT_POOL");
  const std::string pool = flag.empty() && told != nullptr ? told : flag;
  if (pool == "off") return "";
  return pool.empty() ? otherwise() : pool;
}

}  // namespace

void add_steering(CLI::App& verb, EvolveFlags& flags) {
  SearchFeatures& steering = flags.steering;
  verb.add_flag("!--no-roofline", steering.roofline,
                "propose without zones, verdicts and what follows from them, the model included");
  verb.add_flag("!--no-model", steering.model, "propose without forecasts of times");
  verb.add_flag("!--no-surrogate", steering.surrogate,
                "do not learn which children are worth compiling");
  verb.add_flag("!--no-crossover", steering.crossover, "breed children of one parent only");
  verb.add_flag("!--no-pool", steering.pool, "propose without what worked in earlier runs");
  verb.add_option("--pool", flags.pool,
                  "file of what worked in earlier runs, read and written; off: none (default: in "
                  "your data folder)");
  verb.add_option("--pool-guard", flags.pool_guard,
                  "an experiment's tag: neither this task's entries nor those with the tag are "
                  "read, what is written carries it");
}

std::string pool_of(const EvolveFlags& flags) {
  return pool_told(flags.pool, [] {
    const std::string folder = data_folder();
    return folder.empty() ? std::string() : folder + "/pool.sqlite";
  });
}

std::string pool_of(const SuiteFlags& flags) {
  return pool_told(flags.pool, [&] { return flags.run_dir + "/pool.sqlite"; });
}

std::string pool_anywhere(const std::string& pool) {
  return pool.empty() || pool == "off" ? pool : std::filesystem::absolute(pool).string();
}

}  // namespace cupilot::cli
