#include "catch.hpp"

#include "kernel/parameter_check.hpp"
#include "kernel/support.hpp"

using namespace cupilot;
using namespace cupilot::test;

TEST_CASE("a plan alone says what parameters a kernel must declare", "[kernel]") {
  const auto plan = launch_plan_from_json(R"({"buffers":[{"name":"p","bytes":4}],
    "maps":[{"name":"a","of":"A","type":"bf16","dims":[64],"box":[64]}],
    "launches":[{"entry":"k","grid":[1],"block":[32],"args":["a","A","C?","alpha","p",{"i32":1},{"i64":2}]}]})");
  REQUIRE(plan);
  const auto expected = expected_parameters(*plan, plan->launches[0]);
  REQUIRE(expected.size() == 7);
  const std::vector<int> bytes = {128, 0, 8, 0, 8, 4, 8};
  for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(expected[i].bytes == bytes[i]);

  const auto says = [&](std::vector<int> sizes) {
    return parameter_mismatch(expected, entry("k", 32, std::move(sizes))).value_or("");
  };
  CHECK(says({128, 8, 8, 4, 8, 4, 8}).empty());
  CHECK(says({128, 8, 8, 8, 8, 4, 8}).empty());
  CHECK(says({128, 8, 8, 4, 8, 4}) == "k declares 6 parameters, the plan passes 7");
  CHECK(says({64, 8, 8, 4, 8, 4, 8}) == "parameter 0 of k has 64 bytes, the plan passes 128");
  CHECK(says({128, 16, 8, 4, 8, 4, 8}) == "parameter 1 of k has 16 bytes, the plan passes 1 to 8");
  CHECK(says({128, 8, 8, 4, 8, 8, 8}) == "parameter 5 of k has 8 bytes, the plan passes 4");
  EntryFacts strict = entry("k", 32, {128, 8, 8, 4, 8, 4, 8});
  strict.parameter_alignment[5] = 8;
  CHECK(parameter_mismatch(expected, strict)
            .value_or("")
            .find("aligned to 8 bytes, the plan's value to 4") != std::string::npos);
}
