#include "ptx/gate/facts.hpp"

#include <algorithm>

#include <fstream>

#include "catch.hpp"
#include "ptx/syntax/flags.hpp"
#include "ptx/syntax/parser.hpp"

namespace cupilot::ptx {
namespace {

std::string with_body(const std::string& body, const std::string& scope = "") {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + scope +
         ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .f32 "
         "%f<20>; .reg .b32 %r<20>; "
         ".reg .b64 %rd<9>; .reg .f64 %fd<9>;\n" +
         body + "\nret;\n}\n";
}

PtxFacts facts(const std::string& text) {
  Attempt<Module> module = parse(text);
  if (module.is_rejected()) FAIL(module.rejected().message << " at " << module.rejected().where);
  return facts_of(*module);
}

struct Row {
  std::string body;
  Precision ceiling;
};

constexpr const char* quad = "{%f1,%f2,%f3,%f4}";

TEST_CASE("The precision ceiling follows the weakest arithmetic") {
  const std::string f = quad;
  const auto row = GENERATE_COPY(values<Row>({
      {"", Precision::fp64},
      {"add.s32 %r1, %r2, 1;", Precision::fp64},
      {"fma.rn.f32 %f1, %f2, %f3, %f1;", Precision::fp32_strict},
      {"fma.rn.f64 %fd1, %fd2, %fd3, %fd1;", Precision::fp64},
      {"fma.rn.f64 %fd1, %fd2, %fd3, %fd1;\nmul.f32 %f1, %f2, %f3;", Precision::fp32_strict},
      {"fma.rn.f16x2 %r1, %r2, %r3, %r1;", Precision::fp16},
      {"add.rn.bf16x2 %r1, %r2, %r3;", Precision::bf16},
      {"fma.rn.f16 %h1, %h2, %h3, %h1;\nfma.rn.bf16 %h1, %h2, %h3, %h1;", Precision::fp8},
      {"cvt.f32.f16 %f1, %h1;\nfma.rn.f32 %f1, %f2, %f3, %f1;", Precision::fp32_strict},
      {"cvt.rna.tf32.f32 %r1, %f1;\nfma.rn.f32 %f1, %f2, %f3, %f1;", Precision::fp32_emulated},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " + f +
           ", {%r1,%r2,%r3,%r4}, {%r5,%r6}, " + f + ";",
       Precision::fp32_emulated},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + f +
           ", {%r1,%r2,%r3,%r4}, {%r5,%r6}, " + f + ";",
       Precision::bf16},
      {"cvt.rn.bf16x2.f32 %r1, %f1, %f2;\nmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " +
           f + ", {%r1,%r2,%r3,%r4}, {%r5,%r6}, " + f + ";",
       Precision::fp32_emulated},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + f +
           ", {%r1,%r2,%r3,%r4}, {%r5,%r6}, " + f + ";",
       Precision::fp16},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " + f +
           ", {%r1,%r2,%r3,%r4}, {%r5,%r6}, " + f + ";",
       Precision::fp8_promoted},
      {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
       "{%r1,%r2};",
       Precision::fp16},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r7,%r8,%r9,%r10}, {%r1,%r2,%r3,%r4}, "
       "{%r5,%r6}, {%r7,%r8,%r9,%r10};",
       Precision::fp32_emulated},
      {"dp4a.s32.s32 %r1, %r2, %r3, %r1;", Precision::fp32_emulated},
      {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd1], [%r1], 16;",
       Precision::fp16},
      {"red.global.add.noftz.bf16x2 [%rd1], %r1;", Precision::bf16},
      // Rounded on the way through a narrow type: straight, as bits, and by way of shared memory.
      {"cvt.rn.f16.f32 %h1, %f1;\ncvt.f32.f16 %f2, %h1;\nmul.f32 %f2, %f2, %f2;",
       Precision::fp32_emulated},
      {"cvt.f32.f16 %f2, %h1;\nmul.f32 %f2, %f2, %f2;\ncvt.rn.f16.f32 %h1, %f1;",
       Precision::fp32_emulated},
      {"cvt.rn.bf16.f32 %h1, %f1;\nmov.b32 %r1, {%h2, %h1};\nmov.b32 %f2, %r1;\nadd.f32 %f3, %f2, "
       "%f2;",
       Precision::fp32_emulated},
      {"cvt.rn.bf16x2.f32 %r1, %f1, %f2;\nand.b32 %r2, %r1, -65536;\nmov.b32 %f2, %r2;\nfma.rn.f32 "
       "%f3, %f2, %f2, %f3;",
       Precision::fp32_emulated},
      {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;\ncvt.rn.f16x2.e4m3x2 %r1, %h1;\nmov.b32 {%h2, "
       "%h3}, %r1;\ncvt.f32.f16 %f3, "
       "%h2;",
       Precision::fp32_emulated},
      {"cvt.rn.f16.f32 %h1, %f1;\nst.shared.b16 [%r1], %h1;\nld.shared.b16 %h2, "
       "[%r1];\ncvt.f32.f16 %f2, %h2;",
       Precision::fp32_emulated},
      // A constant that a narrow type holds loses nothing in it: a padding by zero, say.
      {"mov.f32 %f1, 0f00000000;\ncvt.rn.f16.f32 %h1, %f1;\nst.shared.b16 [%r1], "
       "%h1;\nld.shared.b16 "
       "%h2, [%r1];\ncvt.f32.f16 %f2, %h2;\nadd.f32 %f3, %f2, %f2;",
       Precision::fp32_strict},
      {"mov.f32 %f1, 0f3EAAAAAB;\ncvt.rn.f16.f32 %h1, %f1;\ncvt.f32.f16 %f2, %h1;\nadd.f32 %f3, "
       "%f2, "
       "%f2;",
       Precision::fp32_emulated},
      {"mov.f32 %f1, 0f00000000;\nadd.f32 %f1, %f2, %f2;\ncvt.rn.f16.f32 %h1, %f1;\ncvt.f32.f16 "
       "%f2, "
       "%h1;\nadd.f32 %f3, %f2, %f2;",
       Precision::fp32_emulated},
      // Narrow inputs and narrow outputs are storage.
      {"ld.global.b16 %h1, [%rd1];\ncvt.f32.f16 %f2, %h1;\nmul.f32 %f2, %f2, %f2;",
       Precision::fp32_strict},
      {"mul.f32 %f2, %f2, %f2;\ncvt.rn.f16.f32 %h1, %f2;\nst.global.b16 [%rd1], %h1;",
       Precision::fp32_strict},
  }));
  INFO(row.body);
  CHECK(name_of(facts(with_body(row.body)).ceiling) == name_of(row.ceiling));
}

TEST_CASE("A rounding by way of shared memory is followed by variable, where it can be told") {
  const std::string scope =
      ".shared .align 4 .b8 wide[64];\n.shared .align 4 .b8 tight[64];\n"
      ".extern .shared .align 4 .b8 here[];\n.extern .shared .align 4 .b8 there[];\n";
  const std::string rounded = "mov.b32 %r5, %tid.x;\ncvt.rn.f16.f32 %h1, %f1;\n",
                    stored = "st.shared.b16 [%r2+4], %h1;\n",
                    summed = "ld.shared.f32 %f2, [%r4+8];\nadd.f32 %f3, %f2, %f2;";
  struct Row {
    const char* what;
    std::string addresses;  // %r2: stored at, %r4: loaded from
    Precision ceiling;
  };
  const auto row = GENERATE(values<Row>({
      {"apart",
       "mov.b32 %r1, tight;\nadd.s32 %r2, %r1, %r5;\nmov.b32 %r3, wide;\nmad.lo.s32 %r4, %r5, 4, "
       "%r3;\n",
       Precision::fp32_strict},
      {"one variable",
       "mov.b32 %r1, tight;\nadd.s32 %r2, %r1, %r5;\nmov.b32 %r3, tight;\nmad.lo.s32 %r4, %r5, 4, "
       "%r3;\n",
       Precision::fp32_emulated},
      {"two names of dynamic memory", "mov.b32 %r2, here;\nmov.b32 %r4, there;\n",
       Precision::fp32_emulated},
      {"dynamic and static memory", "mov.b32 %r2, here;\nmov.b32 %r4, wide;\n",
       Precision::fp32_strict},
      {"either",
       "mov.b32 %r1, tight;\nmov.b32 %r3, wide;\nselp.b32 %r2, %r1, %r3, %p1;\nmov.b32 %r4, "
       "wide;\n",
       Precision::fp32_emulated},
      {"either of two at different times",
       "mov.b32 %r2, tight;\nmov.b32 %r4, wide;\nadd.s32 %r2, %r4, %r5;\n",
       Precision::fp32_emulated},
      {"the distance of two",
       "mov.b32 %r1, tight;\nmov.b32 %r3, wide;\nsub.s32 %r6, %r3, %r1;\nadd.s32 %r2, %r1, %r6;\n"
       "mov.b32 %r4, wide;\n",
       Precision::fp32_emulated},
      {"one or what memory tells",
       "mov.b32 %r2, tight;\nmov.b32 %r3, wide;\nld.global.b32 %r6, [%rd1];\nsetp.eq.s32 %p1, %r5, "
       "0;\n"
       "selp.b32 %r4, %r6, %r3, %p1;\n",
       Precision::fp32_emulated},
      {"one, then what memory tells",
       "mov.b32 %r2, tight;\nmov.b32 %r4, wide;\nld.global.b32 %r4, [%rd1];\n",
       Precision::fp32_emulated},
      {"one or a number", "mov.b32 %r2, tight;\nmov.b32 %r4, wide;\nmov.b32 %r4, 64;\n",
       Precision::fp32_emulated},
      {"an index from memory",
       "mov.b32 %r2, tight;\nmov.b32 %r3, wide;\nld.global.b32 %r6, [%rd1];\nadd.s32 %r4, %r3, "
       "%r6;\n",
       Precision::fp32_strict},
      {"a pointer that goes on", "mov.b32 %r2, tight;\nmov.b32 %r4, wide;\nadd.s32 %r4, %r4, 64;\n",
       Precision::fp32_strict},
      {"a number less one", "mov.b32 %r2, tight;\nmov.b32 %r3, wide;\nsub.s32 %r4, %r5, %r3;\n",
       Precision::fp32_emulated},
      {"none of one and a number",
       "mov.b32 %r2, tight;\nmov.b32 %r3, wide;\nmad.lo.s32 %r4, %r3, 0, %r5;\n",
       Precision::fp32_emulated},
      {"one times a number", "mov.b32 %r2, tight;\nmov.b32 %r3, wide;\nmul.lo.s32 %r4, %r3, 1;\n",
       Precision::fp32_emulated},
      {"stored at an address from memory", "ld.global.b32 %r2, [%rd1];\nmov.b32 %r4, wide;\n",
       Precision::fp32_emulated},
      {"loaded from an address from memory", "mov.b32 %r2, tight;\nld.global.b32 %r4, [%rd1];\n",
       Precision::fp32_emulated},
  }));
  INFO(row.what);
  CHECK(name_of(facts(with_body(row.addresses + rounded + stored + summed, scope)).ceiling) ==
        name_of(row.ceiling));
}

TEST_CASE("What a function that a kernel calls does counts as well") {
  const std::string scope =
      ".func f()\n{\n.reg .b32 %q<4>; .reg .b64 %t<2>;\nadd.f16x2 %q1, %q2, %q3;\nnanosleep.u32 "
      "1;\nret;\n}\n";
  const PtxFacts f = facts(with_body("call f, ();", scope));
  CHECK(f.ceiling == Precision::fp16);
  CHECK(f.opcodes.at("add.f16x2") == 1);
  CHECK(f.flags == std::vector<std::string>{"nanosleep"});
}

TEST_CASE("docs/formats/ptx-gate.md lists every flag with its verdict") {
  std::ifstream file(std::string(CUPILOT_SOURCE_DIR) + "/docs/formats/ptx-gate.md");
  REQUIRE(file);
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| `", 0) == 0) rows.push_back(line);
  }
  REQUIRE(rows.size() == flag_rules().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FlagRule& rule = flag_rules()[i];
    CHECK(rows[i] == "| `" + std::string(rule.flag) + "` | " +
                         (rule.refused ? "refused" : "recorded") + " | " + std::string(rule.why) +
                         " |");
  }
}

TEST_CASE("Opcodes are counted by full form") {
  const PtxFacts f =
      facts(with_body("add.s32 %r1, %r2, 1;\nadd.s32 %r1, %r2, 2;\nadd.s64 %rd1, %rd2, 2;"));
  CHECK(f.opcodes.at("add.s32") == 2);
  CHECK(f.opcodes.at("add.s64") == 1);
  CHECK(f.opcodes.at("ret") == 1);
}

TEST_CASE("Oddities are recorded") {
  const PtxFacts f = facts(with_body(
      "mov.u64 %rd1, %clock64;\nmov.u32 %r1, %smid;\nmov.u32 %r1, %warpid;\nnanosleep.u32 20;\n"
      "red.global.add.f32 [%rd1], %f1;\nex2.approx.ftz.f32 %f1, %f2;\n"
      "ld.global.L1::evict_last.f32 %f1, [%rd1];"));
  for (const char* flag :
       {"%clock", "%smid", "%warpid", "nanosleep", "red.f32", ".approx", ".ftz", "evict_last"}) {
    INFO(flag);
    CHECK(std::count(f.flags.begin(), f.flags.end(), flag) == 1);
  }
  CHECK_FALSE(f.writes_global_state);
  CHECK(facts(with_body("")).flags.empty());
  CHECK(facts(with_body("st.global.u32 [c], %r1;", ".global .u32 c;\n")).writes_global_state);
}

TEST_CASE("The hash ignores names, comments and lines, and nothing else") {
  const std::string base =
      with_body("add.s32 %r1, %r2, 1;\n$L1:\nadd.s32 %r3, %r1, %r1;\n@%p1 bra $L1;");
  const std::string hash = facts(base).normalized_hash;
  CHECK(hash.size() == 64);
  const std::vector<std::string> same = {
      with_body(
          "add.s32 %r7, %r5, 1;\n$other:\n// comment\n\nadd.s32 %r6, %r7, %r7;\n@%p4 bra $other;"),
      with_body("add.s32 %r1, %r2, 0x1;\n$L1:\n/* c */ add.s32 %r3, %r1, %r1;\n@%p1 bra $L1;"),
  };
  for (const std::string& text : same) CHECK(facts(text).normalized_hash == hash);
  const std::vector<std::string> different = {
      with_body("add.s32 %r1, %r2, 2;\n$L1:\nadd.s32 %r3, %r1, %r1;\n@%p1 bra $L1;"),
      with_body("add.s32 %r1, %r2, 1;\n$L1:\nadd.s32 %r3, %r1, %r2;\n@%p1 bra $L1;"),
      with_body("add.s32 %r1, %r2, 1;\n$L1:\nadd.s32 %r3, %r1, %r1;\n@!%p1 bra $L1;"),
      with_body("add.s32 %r1, %r2, 1;\nadd.s32 %r3, %r1, %r1;\n$L1:\n@%p1 bra $L1;"),
      with_body("add.u32 %r1, %r2, 1;\n$L1:\nadd.s32 %r3, %r1, %r1;\n@%p1 bra $L1;"),
  };
  for (const std::string& text : different) CHECK(facts(text).normalized_hash != hash);
  std::string renamed = base;
  renamed.replace(renamed.find(" k("), 3, " q(");
  CHECK(facts(renamed).normalized_hash == hash);
}

TEST_CASE("The hash sees tables and shared memory") {
  const auto table = [](const std::string& scope) {
    return facts(with_body("ld.global.f32 %f1, [t];", scope)).normalized_hash;
  };
  const std::string base = table(".global .align 4 .b8 t[8] = {1, 2};\n");
  CHECK(base == table(".global .align 4 .b8 t[8] = {1, 2};\n.global .u32 unused;\n"));
  CHECK(base != table(".global .align 4 .b8 t[8] = {1, 3};\n"));
  CHECK(base != table(".global .align 4 .b8 t[12] = {1, 2};\n"));
}

}  // namespace
}  // namespace cupilot::ptx
