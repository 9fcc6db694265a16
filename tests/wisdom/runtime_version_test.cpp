#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <cupilot/runtime/version.hpp>

#include "base/hash.hpp"
#include "catch.hpp"

namespace fs = std::filesystem;

#define TEXT_OF(name) #name
#define TEXT_OF_VALUE(macro) TEXT_OF(macro)

namespace {

std::string file_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the runtime's version is the digest of its headers", "[wisdom]") {
  const fs::path folder = fs::path(CUPILOT_SOURCE_DIR) / "include/cupilot";
  std::vector<fs::path> headers;
  for (const auto& header : fs::directory_iterator(folder / "runtime"))
    if (header.path().filename() != "version.hpp") headers.push_back(header.path());
  REQUIRE(headers.size() >= 3);
  std::sort(headers.begin(), headers.end());
  std::string all = file_text(folder / "runtime.hpp");
  for (const fs::path& header : headers) all += file_text(header);
  // After a change of a header: put the value expected here into runtime/version.hpp.
  CHECK(TEXT_OF_VALUE(CUPILOT_RUNTIME_VERSION) == "v_" + cupilot::sha256_hex(all).substr(0, 16));
}
