// Numbers that a kernel's text compares its arguments with.
#include "verify/named_sizes.hpp"

#include "catch.hpp"

namespace cupilot {
namespace {

std::string entry(const std::string& body) {
  return ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u32 k_param_1\n)\n{\n"
         "\tld.param.u32 \t%r1, [k_param_1];\n" +
         body + "\tret;\n}\n";
}

TEST_CASE("comparisons of arguments name the sizes at which they change") {
  struct Row {
    const char* body;
    std::vector<std::int64_t> numbers;
  };
  const Row rows[] = {
      {"\tsetp.ne.s32 \t%p8, %r1, 4097;\n", {4097}},
      {"\tsetp.eq.s32 \t%p8, 4097, %r1;\n", {4097}},
      {"\tmov.u32 %r2, %r1;\n\tcvt.s64.s32 %rd1, %r2;\n\tsetp.eq.s64 %p1, %rd1, 99;\n", {99}},
      {"\tand.b32  \t%r2, %r1, 1023;\n\tsetp.eq.s32 \t%p1, %r2, 777;\n", {777}},
      {"\tand.b32  \t%r2, %r1, 255;\n\tsetp.eq.s32 \t%p1, %r2, 777;\n", {}},
      {"\tadd.s32 \t%r2, %r1, -4097;\n\tsetp.ne.s32 \t%p1, %r2, 0;\n", {4097}},
      {"\txor.b32 \t%r2, %r1, 4097;\n\tsetp.ne.s32 \t%p1, %r2, 0;\n", {4097}},
      {"\tmul.lo.s32 \t%r2, %r1, 3;\n\tsetp.ne.s32 \t%p1, %r2, 12291;\n", {4097}},
      {"\tmul.lo.s32 \t%r2, %r1, 3;\n\tsetp.ne.s32 \t%p1, %r2, 12292;\n", {}},
      {"\tmul.hi.s32 \t%r2, %r1, 3;\n\tsetp.ne.s32 \t%p1, %r2, 12291;\n", {}},
      {"\tshr.u32 \t%r2, %r1, 4;\n\tsetp.ne.s32 \t%p1, %r2, 256;\n", {4096}},
      {"\tadd.s32 %r2, %r1, 1;\n\tshl.b32 %r3, %r2, 1;\n\tsetp.eq.s32 %p1, %r3, 200;\n", {99}},
      {"\tsetp.gt.s32 \t%p1, %r1, 5000;\n", {5000, 5001}},
      {"\tsetp.lt.s32 \t%p1, %r1, 5000;\n", {5000, 4999}},
      {"\tsetp.lt.s32 \t%p1, 5000, %r1;\n", {5000, 5001}},
      {"\tsetp.gt.s32 \t%p1, %r1, 20;\n", {}},  // met by small sizes
      {"\tmul.lo.s64 %rd1, %r1, -1;\n\tsetp.eq.s64 %p1, %rd1, -9223372036854775808;\n", {}},
      {"\tadd.s64 %rd1, %r1, 9;\n\tsetp.gt.s64 %p1, %rd1, 9223372036854775807;\n", {}},
      {"\tshr.s64 %rd1, %r1, 4;\n\tsetp.eq.s64 %p1, %rd1, -2;\n", {}},
      {"\tsetp.ne.s32 \t%p1, %r1, 1;\n", {}},
      {"\tsetp.eq.f32 \t%p1, %r1, 4097;\n", {}},
      {"\tadd.s32 \t%r1, %r1, %r9;\n\tsetp.gt.s32 \t%p1, %r1, 5000;\n", {}},  // is something else
  };
  for (const Row& row : rows) {
    CAPTURE(row.body);
    std::vector<std::int64_t> numbers;
    for (const NamedSize& one : named_sizes(entry(row.body))) {
      CHECK(one.of_argument);
      CHECK(one.entry == "k");
      CHECK(one.argument == 1);
      numbers.push_back(one.number);
    }
    CHECK(numbers == row.numbers);
  }
}

TEST_CASE("a comparison is told by its line, and fields of records by no place") {
  const auto found = named_sizes(
      ".visible .entry k(.param .align 8 .b8 k_param_0[16])\n{\n"
      "ld.param.u32 %r1, [k_param_0+8];\n@%p2 setp.eq.s32 %p1, %r1, 300; // 5\n}\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0] == NamedSize{300, 4, true, "k", -1, 300});
}

TEST_CASE("numbers compared with anything else count for equality alone") {
  const auto numbers = [](const std::string& text) {
    std::vector<std::int64_t> all;
    for (const NamedSize& one : named_sizes(text)) {
      CHECK_FALSE(one.of_argument);
      all.push_back(one.number);
    }
    return all;
  };
  CHECK(numbers(entry("\tsetp.ne.s32 %p1, %r5, 31;\n")) == std::vector<std::int64_t>{31});
  CHECK(numbers(entry("\tsetp.gt.s32 %p1, %r5, 310;\n")).empty());
  // Another function's registers are others.
  CHECK(numbers(entry("") + ".func f()\n{\n\tsetp.ne.s32 %p1, %r1, 77;\n}\n") ==
        std::vector<std::int64_t>{77});
}

TEST_CASE("values that numbers are compared with for equality are named") {
  struct Row {
    const char* statement;
    std::vector<NamedValue> values;
  };
  const Row rows[] = {
      {"setp.eq.f32 %p1, %f1, 0f40700000;", {{3.75, 1}}},
      {"setp.neu.ftz.f32 %p1, 0fC0700000, %f1;", {{-3.75, 1}}},
      {"\n@%p2 setp.equ.f64 %p1, %fd1, 0d400E000000000000;", {{3.75, 2}}},
      {"setp.eq.s32 %p1, %r1, 1081081856;", {{3.75, 1}}},  // its bits
      {"setp.gt.f32 %p1, %f1, 0f40700000;", {}},
      {"setp.eq.f32 %p1, %f1, 0f00000000;", {}},
      {"setp.eq.f32 %p1, %f1, 0f7F800000;", {}},
      {"setp.eq.s32 %p1, %r1, 2139095040;", {}},  // those of infinity
      {"setp.eq.s32 %p1, %r1, 4097;", {}},
      {"setp.eq.f32 %p1, %f1, 0fF149F2CA;", {}},  // -1e30, a sentinel
      {"add.f32 %f1, %f1, 0f40700000;", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.statement);
    CHECK(named_values(row.statement) == row.values);
  }
}

}  // namespace
}  // namespace cupilot
