// Reads every #include of src/, cli/ and examples/ against the table of docs/overview.md.
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "architecture/source_files.hpp"
#include "catch.hpp"

namespace fs = std::filesystem;
using namespace cupilot::testing;

namespace {

const fs::path& root = source_root;

// Folder -> folders whose internal headers it may include, its own aside.
const std::map<std::string, std::set<std::string>> allowed = {
    {"base", {}},
    {"task", {"base"}},
    {"ptx", {"base"}},
    {"llm", {"base", "task"}},
    {"roofline", {"base"}},
    {"pool", {"base"}},
    {"strategy", {"base"}},
    {"kernel", {"base", "task"}},
    {"agents", {"base", "strategy", "kernel"}},
    {"verify", {"base", "task", "kernel"}},
    {"backend", {"base", "task", "kernel", "ptx"}},
    {"evolution", {"base", "strategy", "kernel"}},
    {"wisdom", {"base", "task", "kernel"}},
    {"capi", {}},
};

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

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

std::string place(const Include& include) {
  return fs::relative(include.file, root).string() + ":" + std::to_string(include.line) + " includes " + include.target;
}

bool is_folder_of_src(const std::string& name) { return allowed.contains(name); }

}  // namespace

TEST_CASE("each folder of src includes only the folders below it", "[architecture]") {
  for (const auto& entry : fs::directory_iterator(root / "src")) {
    if (!entry.is_directory()) continue;
    const std::string folder = entry.path().filename();
    INFO("a new folder needs a row in this table and in docs/overview.md: " << folder);
    REQUIRE(allowed.contains(folder));
    for (const Include& include : includes_under(entry.path())) {
      const std::string target = first_part(include.target);
      if (!is_folder_of_src(target) || target == folder) continue;
      INFO(place(include));
      CHECK(allowed.at(folder).contains(target));
    }
  }
}

TEST_CASE("the program and the examples stand on public headers", "[architecture]") {
  for (const char* folder : {"cli", "examples"}) {
    for (const Include& include : includes_under(root / folder)) {
      // The worker's main is the one door to the processes behind the backend.
      if (include.file.filename() == "worker_main.cpp") continue;
      INFO(place(include));
      CHECK_FALSE(is_folder_of_src(first_part(include.target)));
    }
  }
}

TEST_CASE("public headers name no JSON, HTTP or CUDA type", "[architecture]") {
  const std::set<std::string> foreign = {"nlohmann", "httplib.h", "cuda.h", "nvrtc.h", "cuda_runtime.h",
                                         "cupti.h",  "boost",     "Eigen",  "fmt"};
  for (const Include& include : includes_under(root / "include")) {
    INFO(place(include));
    CHECK_FALSE(foreign.contains(first_part(include.target)));
    CHECK_FALSE(is_folder_of_src(first_part(include.target)));
  }
}

TEST_CASE("nothing above the backend sees CUDA, and roofline sees none", "[architecture]") {
  for (const auto& [folder, unused] : allowed) {
    if (folder == "backend") continue;
    for (const Include& include : includes_under(root / "src" / folder)) {
      INFO(place(include));
      CHECK_FALSE((include.target == "cuda.h" || include.target == "nvrtc.h" || include.target == "cublasLt.h"));
    }
  }
}
