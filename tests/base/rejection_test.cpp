#include <cupilot/parts/rejection.hpp>

#include <set>
#include <string>

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("rejection codes are unique, belong to their stage and have a meaning", "[rejection]") {
  std::set<std::string_view> seen;
  for (const RejectionCode& row : rejection_codes()) {
    INFO(row.code);
    CHECK(seen.insert(row.code).second);
    CHECK_FALSE(row.meaning.empty());
    const std::string prefix(row.code.substr(0, row.code.find('.')));
    CHECK((prefix == name_of(row.stage) || (prefix == "plan" && row.stage == Stage::write)));
  }
}

TEST_CASE("reject fills the stage from the table", "[rejection]") {
  const Rejected rejected = reject("verify.bound", "off by 3", "D[7]");
  CHECK(rejected.stage == Stage::verify);
  CHECK(rejected.code == "verify.bound");
  CHECK(rejected.message == "off by 3");
  CHECK(rejected.where == "D[7]");
}
