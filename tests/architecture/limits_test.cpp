// A folder holds no more files than a person can look over; limits.txt has the numbers.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "architecture/source_files.hpp"
#include "catch.hpp"

namespace fs = std::filesystem;
using namespace cupilot::testing;

namespace {

// Folder -> the most files in it; "*": of any other.
std::map<std::string, int> read_limits() {
  std::map<std::string, int> limits;
  std::ifstream in(source_root / "tests/architecture/limits.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string folder;
    int limit = 0;
    if (line[0] != '#' && words >> folder >> limit) limits[folder] = limit;
  }
  return limits;
}

// Folder -> files in it, those in folders within it aside.
std::map<std::string, int> count_files() {
  std::map<std::string, int> counts;
  for (const char* top : {"src", "include", "cli", "kernels"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_root / top)) {
      if (entry.is_regular_file())
        ++counts[fs::relative(entry.path().parent_path(), source_root).string()];
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("no folder holds more files than it may", "[architecture]") {
  const auto limits = read_limits();
  const auto counts = count_files();
  REQUIRE(limits.contains("*"));
  REQUIRE(counts.size() > 40);
  for (const auto& [folder, limit] : limits) {
    INFO("limits.txt has a row of " << folder << ", which holds no files");
    CHECK((folder == "*" || counts.contains(folder)));
  }
  for (const auto& [folder, count] : counts) {
    const int limit = limits.contains(folder) ? limits.at(folder) : limits.at("*");
    INFO(folder << " holds " << count << " files; move some into a room of their own");
    CHECK(count <= limit);
  }
}
