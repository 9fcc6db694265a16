// Families are data: no source of the library names one.
#include <filesystem>
#include <regex>
#include <string>

#include "architecture/source_files.hpp"
#include "catch.hpp"

namespace fs = std::filesystem;
using namespace cupilot::testing;

namespace {

std::vector<std::string> built_in_families() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_root / "kernels/families"))
    names.push_back(entry.path().filename().string());
  return names;
}

// The name as a word, in code, texts and comments alike, or as a part of a name between
// underscores.
std::regex mention_of(const std::string& family) {
  return std::regex("(^|[^A-Za-z0-9])" + family + "([^A-Za-z0-9]|$)");
}

}  // namespace

TEST_CASE("a mention is a word of its own or a part of a name", "[architecture]") {
  const std::regex mention = mention_of("gemm");
  for (const char* text : {"\"gemm\"", "family == \"scaled_gemm\"", "// as gemm does", "gemm",
                           "gemm_wgmma", "my_gemm"})
    CHECK(std::regex_search(text, mention));
  for (const char* text : {"gemms", "sgemm", "CUDNN_CONVOLUTION_FWD_ALGO_GEMM"})
    CHECK_FALSE(std::regex_search(text, mention));
}

TEST_CASE("no source of the library names a built-in family", "[architecture]") {
  const auto families = built_in_families();
  REQUIRE_FALSE(families.empty());
  for (const std::string& family : families) {
    const std::regex mention = mention_of(family);
    for (const fs::path& path : sources_under(source_root / "src")) {
      int number = 0;
      for (const std::string& line : lines_of(path)) {
        ++number;
        INFO(fs::relative(path, source_root).string() << ":" << number << ": " << line);
        CHECK_FALSE(std::regex_search(line, mention));
      }
    }
  }
}
