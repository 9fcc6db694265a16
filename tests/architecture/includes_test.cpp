// Holds every #include of src/, cli/ and examples/ to the table rooms.txt; calls.py holds calls to
// it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "architecture/source_files.hpp"
#include "catch.hpp"

namespace fs = std::filesystem;
using namespace cupilot::testing;

namespace {

const fs::path& root = source_root;

// Room -> rooms that it may use, from rooms.txt.
std::map<std::string, std::set<std::string>> read_rooms() {
  std::map<std::string, std::set<std::string>> rooms;
  std::ifstream in(root / "tests/architecture/rooms.txt");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 1));
    auto& uses = rooms[line.substr(0, colon)];
    for (std::string word; words >> word;) uses.insert(word);
  }
  return rooms;
}

const std::map<std::string, std::set<std::string>> allowed = read_rooms();

struct Include {
  fs::path file;
  int line = 0;
  std::string target;
};

std::vector<Include> includes_of(const fs::path& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  std::vector<Include> found;
  int line = 0;
  for (const std::string& text : lines_of(file)) {
    ++line;
    std::smatch match;
    if (std::regex_search(text, match, pattern)) found.push_back({file, line, match[1]});
  }
  return found;
}

std::vector<Include> includes_under(const fs::path& folder) {
  std::vector<Include> all;
  for (const fs::path& file : sources_under(folder)) {
    const auto some = includes_of(file);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// "ptx/machine/move.hpp" -> "ptx/machine".
std::string room_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

std::string place(const Include& include) {
  return fs::relative(include.file, root).string() + ":" + std::to_string(include.line) +
         " includes " + include.target;
}

// Row `room` of the table lists `target`, or all rooms of its folder.
bool may_use(const std::string& room, const std::string& target) {
  return allowed.at(room).contains(target) || allowed.at(room).contains(first_part(target) + "/*");
}

bool is_folder_of_src(const std::string& name) {
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const auto& row) { return first_part(row.first) == name; });
}

}  // namespace

TEST_CASE("each room of src includes only the rooms that it may use", "[architecture]") {
  REQUIRE(allowed.size() > 20);
  for (const Include& include : includes_under(root / "src")) {
    const std::string room = room_of(fs::relative(include.file, root / "src").string());
    if (room == "capi" || room == "inject" || room.find("prompts") != std::string::npos) continue;
    INFO("a new room needs a row in tests/architecture/rooms.txt: " << room);
    REQUIRE(allowed.contains(room));
    const std::string target = room_of(include.target);
    if (!allowed.contains(target) || target == room) continue;
    INFO(place(include));
    CHECK(may_use(room, target));
  }
}

TEST_CASE("what other programs load includes nothing of the library", "[architecture]") {
  const std::vector<Include> all = includes_under(root / "src/inject");
  REQUIRE(all.size() > 20);
  for (const Include& include : all) {
    INFO(place(include));
    CHECK_FALSE(allowed.contains(room_of(include.target)));
    CHECK_FALSE(include.target.starts_with("cupilot/"));
    CHECK_FALSE(include.target.starts_with("fmt/"));
  }
}

TEST_CASE("no two rooms use each other, however long the way", "[architecture]") {
  for (const auto& [room, unused] : allowed) {
    std::set<std::string> reached;
    std::vector<std::string> pending{room};
    while (!pending.empty()) {
      const std::string at = pending.back();
      pending.pop_back();
      for (const auto& [other, row] : allowed) {
        if (may_use(at, other) && reached.insert(other).second) pending.push_back(other);
      }
    }
    INFO(room);
    CHECK_FALSE(reached.contains(room));
  }
}

TEST_CASE("one umbrella header holds every public header outside of parts", "[architecture]") {
  std::set<std::string> headers, umbrellas;
  for (const auto& entry : fs::directory_iterator(root / "include/cupilot")) {
    const std::string name = "cupilot/" + entry.path().filename().string();
    if (entry.path().extension() == ".hpp") headers.insert(name);
  }
  REQUIRE(headers.size() > 10);
  for (const std::string& name : headers) {
    std::set<std::string> missing = headers;
    missing.erase(name);
    for (const Include& include : includes_of(root / "include" / name))
      missing.erase(include.target);
    if (missing.empty()) umbrellas.insert(name);
    if (name == "cupilot/cupilot.hpp") {
      INFO("add these to cupilot.hpp, or move them to parts/");
      CHECK(missing == std::set<std::string>{});
    }
  }
  CHECK(umbrellas == std::set<std::string>{"cupilot/cupilot.hpp"});
}

TEST_CASE("the program and the examples stand on public headers", "[architecture]") {
  for (const char* folder : {"cli", "examples"}) {
    for (const Include& include : includes_under(root / folder)) {
      INFO(place(include));
      CHECK_FALSE(is_folder_of_src(first_part(include.target)));
    }
  }
}

TEST_CASE("public headers name no JSON, HTTP or CUDA type", "[architecture]") {
  const std::set<std::string> foreign = {"nlohmann", "httplib.h",      "cuda.h",
                                         "nvrtc.h",  "cuda_runtime.h", "cupti.h",
                                         "boost",    "Eigen",          "fmt"};
  for (const Include& include : includes_under(root / "include")) {
    INFO(place(include));
    CHECK_FALSE(foreign.contains(first_part(include.target)));
    CHECK_FALSE(is_folder_of_src(first_part(include.target)));
  }
}

TEST_CASE("nothing above the backend sees CUDA, and roofline sees none", "[architecture]") {
  for (const auto& [folder, unused] : allowed) {
    if (first_part(folder) == "backend") continue;
    for (const Include& include : includes_under(root / "src" / folder)) {
      INFO(place(include));
      CHECK_FALSE((include.target == "cuda.h" || include.target == "nvrtc.h" ||
                   include.target == "cublasLt.h"));
    }
  }
}
