// Parts of records as they come back.
#include "evolution/journal/record_parts.hpp"

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("what was shown of a finalist, and what was not, stays in its record") {
  Verification given;
  given.proved_by = {"each of 2 parts is right on the inputs that it got, by virtual:h200"};
  given.unproved = {"other sizes"};
  for (const ProofLevel level : {ProofLevel::candidate, ProofLevel::elite, ProofLevel::finalist}) {
    given.level = level;
    const Verification read = parts::verification_of(parts::put(given));
    const bool kept = level == ProofLevel::finalist;
    CHECK(read.proved_by == (kept ? given.proved_by : std::vector<std::string>()));
    CHECK(read.unproved == (kept ? given.unproved : std::vector<std::string>()));
  }
}

}  // namespace
}  // namespace cupilot
