#include "evolution/journal/kept_families.hpp"

#include "catch.hpp"
#include "evolution/support.hpp"

using namespace cupilot;
using namespace cupilot::testing;

namespace {

// A family of the user's own: a copy of a built-in one's texts.
Family own_family() {
  Family family = *find_family(builtin_families(), "pointwise");
  family.name = "mine";
  family.built_in = false;
  return family;
}

Result<Families> read(const std::string& text) {
  const TempDir dir;
  REQUIRE(real_host().write_file_atomically(dir / "families.json", text, false));
  return kept_families(real_host(), dir / "");
}

}  // namespace

TEST_CASE("families of a run are read back, and those of another version refused by name") {
  const TempDir dir;
  REQUIRE(keep_families(real_host(), dir / "", {own_family()}));
  const auto text = real_host().read_file(dir / "families.json");
  REQUIRE(text);
  CHECK(text->find("\"cupilot_families\": 1") != std::string::npos);
  CHECK(read("{\"cupilot_families\": 1, \"families\": []}"));
  for (const char* other : {"{\"cupilot_families\": 2, \"families\": []}", "{\"families\": []}"}) {
    INFO(other);
    const auto refused = read(other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::usage);
    CHECK(refused.error().message.find("families.json") != std::string::npos);
  }
}
