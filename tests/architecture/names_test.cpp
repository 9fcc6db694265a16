// Two types of one name in one namespace share the symbols of their inline functions: the linker
// keeps either's.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "catch.hpp"

namespace fs = std::filesystem;

namespace {

// "cupilot::Task" of each type that a file defines at the margin outside of unnamed namespaces.
std::vector<std::string> types_of(std::istream& text) {
  static const std::regex opens(R"re(^namespace ([\w:]*) ?\{$)re"),
      closes(R"re(^\}  // namespace.*)re");
  static const std::regex defines(
      R"re(^(?:class|struct|union|enum class|enum) (\w+)(?: [^;]*)?\{.*)re");
  std::vector<std::string> spaces, found;
  std::smatch match;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_match(line, match, opens)) {
      spaces.push_back(match[1]);
    } else if (std::regex_match(line, closes) && !spaces.empty()) {
      spaces.pop_back();
    } else if (std::regex_match(line, match, defines) &&
               std::count(spaces.begin(), spaces.end(), "") == 0) {
      std::string name;
      for (const std::string& space : spaces) name += space + "::";
      found.push_back(name + match[1].str());
    }
  }
  return found;
}

}  // namespace

TEST_CASE("definitions are found where they stand", "[architecture]") {
  std::istringstream text(
      "CUPILOT_EXPORTS_BEGIN\nnamespace cupilot {\nstruct A {\n  struct Inner {\n  };\n};\nstruct "
      "Later;\nclass B final : public "
      "A {\n"
      "namespace {\nstruct Own {\n}  // namespace\nenum class C { one };\n}  // namespace "
      "cupilot\nnamespace cupilot::ptx "
      "{\nunion D {\n");
  CHECK(types_of(text) ==
        std::vector<std::string>{"cupilot::A", "cupilot::B", "cupilot::C", "cupilot::ptx::D"});
}

TEST_CASE("a name belongs to one type of the library", "[architecture]") {
  std::map<std::string, std::string> owner;
  for (const char* folder : {"include", "src"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(CUPILOT_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".hpp" && entry.path().extension() != ".cpp") continue;
      std::ifstream text(entry.path());
      for (const std::string& name : types_of(text)) {
        const auto [first, is_new] = owner.emplace(name, entry.path().string());
        INFO(name << " is defined in " << first->second << " and in " << entry.path().string());
        CHECK(is_new);
      }
    }
  }
  CHECK(owner.size() > 200);
}
