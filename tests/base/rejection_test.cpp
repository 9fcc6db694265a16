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

TEST_CASE("the next step fits what the message says", "[rejection]") {
  struct Row {
    const char* code;
    const char* message;
    const char* next;
  };
  for (const Row& row : {
           Row{"compile.error", "k.cu:3: error: identifier \"INFINITY\" is undefined", "<math.h>"},
           Row{"compile.error", "k.cu:3: error: identifier \"uint8_t\" is undefined", "<stdint.h>"},
           Row{"compile.error", "k.cu:3: error: namespace \"std\" has no member \"is_same_v\"",
               "<cuda/std/type_traits>"},
           Row{"compile.error", "k.cu:3: error: expected a \";\"", "correct the line"},
           Row{"measure.failed", "the recording does not hold this strategy", "--count"},
           Row{"measure.failed", "two clocks", "quiet device"},
           Row{"gate.include", "#include limits is not on the list", "<cuda/std/type_traits>"},
       }) {
    INFO(row.message);
    CHECK_THAT(next_step(reject(row.code, row.message)), Catch::Contains(row.next));
  }
}
