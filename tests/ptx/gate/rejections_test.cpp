#include <cupilot/parts/rejection.hpp>

#include <fstream>
#include <set>
#include <string>

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("docs/formats/rejections.md is the table of rejection codes") {
  std::ifstream file(std::string(CUPILOT_SOURCE_DIR) + "/docs/formats/rejections.md");
  REQUIRE(file);
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| `", 0) == 0) rows.push_back(line);
  }
  const auto codes = rejection_codes();
  REQUIRE(rows.size() == codes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i] == "| `" + std::string(codes[i].code) + "` | " +
                         std::string(name_of(codes[i].stage)) + " | " +
                         std::string(codes[i].meaning) + " |");
  }
}

TEST_CASE("Rejection codes are unique and begin with a stage") {
  std::set<std::string_view> seen;
  for (const RejectionCode& row : rejection_codes()) {
    CHECK(seen.insert(row.code).second);
    CHECK(reject(row.code, "").stage == row.stage);
    CHECK(row.code.find('.') != std::string_view::npos);
  }
}

}  // namespace
}  // namespace cupilot
