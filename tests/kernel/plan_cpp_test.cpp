#include "kernel/plan_cpp.hpp"

#include "catch.hpp"

using namespace cupilot;

TEST_CASE("a resolved plan is written as members of the runtime's plan", "[plan_cpp]") {
  using Kind = ResolvedArgument::Kind;
  ResolvedPlan plan;
  plan.buffers = {{"scratch", 64, BufferContent::scratch},
                  {"sums", 5'000'000'000, BufferContent::zeroed},
                  {"locks", 4, BufferContent::restored},
                  {"table", 8, BufferContent::table}};
  plan.maps = {{false, 1, DType::bf16, {64, 32}, {128}, {64, 8}, 128},
               {true, 0, DType::e4m3, {16}, {}, {16}, 0}};
  ResolvedLaunch launch;
  launch.entry = R"(f<"a\b">)";
  launch.grid = {3, 2, 1};
  launch.block = {128, 1, 1};
  launch.cluster = {2, 1, 1};
  launch.shared = 1024;
  launch.args = {{Kind::tensor, 2, {}},
                 {Kind::buffer, 1, {}},
                 {Kind::map, 0, {}},
                 {Kind::immediate, 0, {0xfe, 0xff, 0xff, 0xff}},
                 {Kind::immediate, 0, {1, 0, 0, 0, 0, 0, 0, 0x40}},
                 {Kind::null_pointer, 0, {}}};
  ResolvedLaunch setup;
  setup.entry = "once";
  setup.when = When::setup;
  setup.cooperative = true;
  plan.launches = {setup, launch};
  CHECK(assignments(plan_cpp(plan)) == R"(  plan.buffers = {
      {Content::scratch, 64},
      {Content::zeroed, 5000000000},
      {Content::restored, 4},
      {Content::table, 8}};
  plan.maps = {
      {false, 1, 9, 3, {64, 32}, {128}, {64, 8}},
      {true, 0, 0, 0, {16}, {}, {16}}};
  plan.launches = {
      {"once", true, true, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 0, {}},
      {"f<\"a\\b\">", false, false, {3, 2, 1}, {128, 1, 1}, {2, 1, 1}, 1024, {{Argument::tensor, 2}, {Argument::buffer, 1}, {Argument::map, 0}, {Argument::immediate, 0, std::int64_t{-2}, 4}, {Argument::immediate, 0, std::int64_t{4611686018427387905}, 8}, {Argument::null_pointer}}}};
)");
  CHECK(assignments(plan_cpp({})).empty());
}

TEST_CASE("a record is written by its words and its pointers", "[plan_cpp]") {
  using Kind = ResolvedArgument::Kind;
  ResolvedArgument record{Kind::record, 0, std::vector<std::uint8_t>(20)};
  record.bytes[8] = 5;
  record.bytes[16] = 1;
  record.fields = {{Kind::tensor, 3, {}, 0}};
  ResolvedPlan plan;
  plan.launches.resize(1);
  plan.launches[0].entry = "k";
  plan.launches[0].args = {record};
  CHECK(
      assignments(plan_cpp(plan))
          .find("{Argument::record, 0, 0, 20, 0, {{Argument::immediate, 0, std::int64_t{5}, 8, 8}, "
                "{Argument::immediate, 0, std::int64_t{1}, 4, 16}, {Argument::tensor, 3}}}") !=
      std::string::npos);
}

TEST_CASE("types and swizzles of tensor maps are those of cuda.h", "[plan_cpp]") {
  struct Row {
    DType type;
    int swizzle;
    std::string text;
  };
  const Row rows[] = {{DType::f64, 128, "8, 3"},  {DType::f32, 64, "7, 2"},
                      {DType::f16, 32, "6, 1"},   {DType::i64, 0, "5, 0"},
                      {DType::i32, 0, "3, 0"},    {DType::i16, 0, "1, 0"},
                      {DType::boolean, 0, "0, 0"}};
  for (const Row& row : rows) {
    ResolvedPlan plan;
    plan.maps = {{false, 0, row.type, {1}, {}, {1}, row.swizzle}};
    CHECK(assignments(plan_cpp(plan)) ==
          "  plan.maps = {\n      {false, 0, " + row.text + ", {1}, {}, {1}}};\n");
  }
}
