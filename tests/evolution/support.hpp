// Runs on the fake device in throw-away directories.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>

#include "backend/devices.hpp"
#include "evolution/journal/events.hpp"
#include "evolution/journal/records.hpp"

// Shows why a Result is none.
#define REQUIRE_OK(result)                             \
  do {                                                 \
    const auto& ok_ = (result);                        \
    INFO((ok_ ? std::string() : ok_.error().message)); \
    REQUIRE(static_cast<bool>(ok_));                   \
  } while (false)

namespace cupilot::testing {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cupilot-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Values collide and fail now and then, so that duplicates and rejections happen.
inline constexpr const char* rough_landscape =
    R"({"cupilot_landscape": 1, "kind": "nk", "variables": 5, "values": 3, "k": 1, "neutral": 2, "seed": 4, "reject": 0.2})";

inline std::string write_landscape(const TempDir& dir, const std::string& json = rough_landscape) {
  const std::string path = dir / "landscape.json";
  std::ofstream(path) << json;
  return path;
}

inline std::unique_ptr<Backend> fake_device(const std::string& file) {
  auto backend = open_fake(file, {});
  return backend ? std::move(*backend) : nullptr;
}

inline EvolveOptions small_run(const std::string& run_dir, std::int64_t evaluations = 30) {
  EvolveOptions options;
  options.search.max_evaluations = evaluations;
  options.search.population = 8;
  options.search.initial = 8;
  options.search.children = 4;
  options.search.elites = 2;
  options.search.generations_per_epoch = 2;
  options.search.lookahead = 4;
  options.search.offspring_per_slot = 3;
  options.search.seed = 7;
  options.run_dir = run_dir;
  return options;
}

// Records of a run as "equal journals" compares them.
inline std::vector<std::string> comparable(const std::string& run_dir) {
  std::vector<std::string> all;
  auto read = read_journal(real_host(), run_dir);
  if (!read) return {read.error().message};
  for (const FramedRecord& record : read->records)
    all.push_back(comparable_record(record.type, record.payload));
  std::sort(all.begin(), all.end());
  return all;
}

// What must not depend on threads, kills or resumes: every result, and the best.
inline std::string essence(const std::string& run_dir) {
  std::string text;
  std::vector<std::string> results;
  auto read = read_journal(real_host(), run_dir);
  if (!read) return read.error().message;
  for (const FramedRecord& record : read->records) {
    if (record.type == static_cast<std::uint32_t>(RecordType::result))
      results.push_back(comparable_record(4, record.payload));
  }
  std::sort(results.begin(), results.end());
  results.erase(std::unique(results.begin(), results.end()), results.end());
  for (const std::string& result : results) text += result + "\n";
  auto run = read_run(run_dir);
  if (!run) return run.error().message;
  if (run->report.best) text += "best " + run->report.best->candidate.strategy_id;
  return text;
}

inline std::string read_all(const std::string& path) {
  auto text = real_host().read_file(path);
  return text ? *text : "";
}

}  // namespace cupilot::testing
