#include "ptx/gate/gate.hpp"

#include <cupilot/parts/rejection.hpp>

#include "catch.hpp"
#include "ptx/gate/facts.hpp"
#include "ptx/syntax/kept.hpp"
#include "ptx/syntax/parser.hpp"
#include "support/reached.hpp"

namespace cupilot::ptx {
namespace {

// A module with one entry `k` of two pointers and an int: module-scope text, launch directives, and
// body lines go in.
std::string module_text(const std::string& scope, const std::string& directives,
                        const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + scope +
         "\n.visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1,\n\t.param .u32 "
         "k_param_2\n)\n" +
         directives +
         "\n{\n\t.reg .pred %p<4>;\n\t.reg .b16 %h<8>;\n\t.reg .f32 %f<8>;\n\t.reg .b32 "
         "%r<8>;\n\t.reg .b64 %rd<8>;\n"
         "\tld.param.u64 %rd1, [k_param_0];\n\tcvta.to.global.u64 %rd2, %rd1;\n\tld.global.f32 "
         "%f1, [%rd2];\n" +
         body + "\n\tret;\n}\n";
}

Module parsed(const std::string& text) {
  Attempt<Module> module = parse(text);
  if (module.is_rejected()) FAIL(module.rejected().message << " at " << module.rejected().where);
  return std::move(*module);
}

ExpectedEntry expected_k() {
  ExpectedEntry entry;
  entry.name = entry.source_name = "k";
  entry.parameters = {{8, 8}, {0, 0}, {4, 4}};
  return entry;
}

std::string code_of(const std::string& text, const ExpectedEntry& entry = expected_k()) {
  const auto refused = gate(parsed(text), std::array{entry});
  if (!refused) return "";
  bool known = false;
  for (const RejectionCode& row : rejection_codes()) known |= row.code == refused->code;
  CHECK(known);
  return refused->code;
}

struct Case {
  std::string name, scope, directives, body, code;
};

TEST_CASE("A cooperative launch may meet at the grid's barrier, and no more") {
  const std::string address =
      "mov.u32 %r2, %envreg2;\n\tmov.u32 %r3, %envreg1;\n\tcvt.u64.u32 %rd3, %r2;\n\tcvt.u64.u32 "
      "%rd4, %r3;\n\t"
      "bfi.b64 %rd5, %rd4, %rd3, 32, 32;\n\t";
  struct Row {
    const char* body;
    const char* code;
  };
  const Row rows[] = {
      {"setp.ne.s64 %p1, %rd5, 0;\n\t@%p1 bra there;\n\ttrap;\nthere:\n\tadd.s64 %rd6, %rd5, 4;\n\t"
       "atom.add.release.gpu.u32 %r4, [%rd6], 1;\n\tld.acquire.gpu.u32 %r5, [%rd6];\n\txor.b32 "
       "%r5, %r5, %r4;\n\t"
       "setp.gt.s32 %p1, %r5, -1;\n\t@%p1 bra there;",
       ""},
      {"mov.b64 %rd6, {%r2, %r3};\n\tatom.add.gpu.u32 %r4, [%rd6+4], 1;", ""},
      {"st.global.u32 [%rd5], 7;", "gate.state"},
      {"atom.exch.b32 %r4, [%rd5], 7;", "gate.state"},
      {"red.global.add.u32 [%rd5], 7;", "gate.state"},
      {"st.global.u64 [%rd2], %rd5;", "gate.state"},
      {"and.b64 %rd6, %rd5, 64;\n\tsetp.ne.s64 %p1, %rd6, 0;\n\t@%p1 st.global.u32 [%rd2], %r1;",
       "gate.state"},
      {"shl.b64 %rd6, %rd5, 63;\n\tsetp.ne.s64 %p1, %rd6, 0;\n\t@%p1 bra there;\nthere:",
       "gate.state"},
      {"mul.lo.s64 %rd6, %rd5, 1;\n\tatom.add.gpu.u32 %r4, [%rd6], 1;", "gate.state"},
  };
  ExpectedEntry entry = expected_k();
  entry.cooperative = true;
  for (const Row& row : rows) {
    INFO(row.body);
    CHECK(code_of(module_text("", "", address + row.body), entry) == row.code);
    CHECK(code_of(module_text("", "", address + row.body)) == "gate.forbidden");
  }
  CHECK(code_of(module_text("", "", "trap;"), entry) == "gate.forbidden");
  // A variable stays one, whatever the register held before.
  CHECK(code_of(module_text(".global .align 4 .b8 cache[8];\n", "",
                            address + "mov.u64 %rd6, cache;\n\tadd.u64 %rd5, %rd5, "
                                      "%rd6;\n\tatom.add.gpu.u32 %r4, [%rd5], 1;"),
                entry) == "gate.state");
}

// Names the functions that a compiler calls for `assert(…)` and `printf(…)`.
const char* const system_functions =
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
    ".param "
    ".b64 c);\n"
    ".global .align 1 .b8 text[4] = {97, 98, 99};\n";
const char* const assertion =
    "mov.u64 %rd3, text;\n\tcvta.global.u64 %rd4, %rd3;\n\t{ .param .b64 m; .param .b64 f; .param "
    ".b32 l; .param .b64 n; .param .b64 c;\n\tst.param.b64 [m], %rd4;\n\tst.param.b64 [f], "
    "%rd4;\n\tst.param.b32 [l], 3;\n\tst.param.b64 [n], %rd4;\n\tst.param.b64 [c], "
    "1;\n\tcall.uni __assertfail, (m, f, l, n, c); }";

TEST_CASE("An author's own kernel may assert, print, trap and read clocks, a candidate may not") {
  struct Row {
    std::string scope, body;
    const char *candidate, *own;
  };
  const Row rows[] = {
      {system_functions, assertion, "gate.extern", ""},
      {system_functions, "", "gate.extern", ""},
      {".extern .func unknown ();\n", "", "gate.extern", ""},
      {".extern .func unknown ();\n", "call.uni unknown, ();", "gate.extern", "gate.extern"},
      {"", "trap;", "gate.forbidden", ""},
      {"", "brkpt;", "gate.forbidden", "gate.forbidden"},
      {"", "mov.u64 %rd3, %clock64;", "gate.forbidden", ""},
      {"", "mov.u64 %rd3, %globaltimer;", "gate.forbidden", ""},
      {"", "mov.u64 %rd3, %gridid;", "gate.forbidden", "gate.forbidden"},
      {".global .align 4 .b8 seen[4];\n", "st.global.u32 [seen], 1;", "gate.state", "gate.state"},
      {".func told (.param .b64 p) { ret; }\n.global .align 1 .b8 text[4] = {97};\n",
       "mov.u64 %rd3, text;\n\t{ .param .b64 m; st.param.b64 [m], %rd3; call.uni told, (m); }",
       "gate.state", "gate.state"},
      {".entry second() { ret; }\n", "", "gate.extra_entry", "gate.extra_entry"},
  };
  for (const Row& row : rows) {
    INFO(row.scope << row.body);
    const Module module = parsed(module_text(row.scope, "", row.body));
    const auto code = [&](Whose whose) {
      const auto refused = gate(module, std::array{expected_k()}, {}, whose);
      return refused ? refused->code : "";
    };
    CHECK(code(Whose::candidate) == row.candidate);
    CHECK(code(Whose::own) == row.own);
  }
}

TEST_CASE("Kernels that are not kept take nothing with them") {
  const std::string others =
      ".extern .func missing ();\n.global .align 4 .b8 t[131072] = {1};\n"
      ".visible .func helper() { trap; ret; }\n"
      ".entry second() { .reg .b64 a; mov.u64 a, t; call.uni helper, (); ret; }\n"
      ".visible .entry third() { call.uni missing, (); ret; }\n";
  Module module = parsed(module_text(others, "", ""));
  const auto refused = gate(module, std::array{expected_k()});
  REQUIRE(refused);
  CHECK(refused->code == "gate.extra_entry");
  CHECK(refused->message == "kernels second, third are not in the launch plan");
  CHECK(gate(module, std::array{expected_k()}, {}, Whose::own)->message.find("--entry NAME") !=
        std::string::npos);
  const std::vector<std::string> kept{"k"};
  keep_entries(module, kept);
  CHECK_FALSE(gate(module, std::array{expected_k()}));
  // A function that the kept kernel calls stays, with its faults.
  module = parsed(module_text(others, "", "call.uni helper, ();"));
  keep_entries(module, kept);
  CHECK(gate(module, std::array{expected_k()})->code == "gate.extra_entry");
}

TEST_CASE("Hostile PTX is refused with its code") {
  const auto c = GENERATE(values<Case>({
      {"second entry by asm", ".visible .entry evil()\n{\n\tret;\n}\n", "", "", "gate.extra_entry"},
      {"hidden second entry", ".entry evil()\n{\n\tret;\n}\n", "", "", "gate.extra_entry"},
      {"weak entry", ".weak .entry evil()\n{\n\tret;\n}\n", "", "", "gate.extra_entry"},
      {"visible function", ".visible .func helper()\n{\n\tret;\n}\n", "", "", "gate.extra_entry"},
      {"read behind the parameters", "", "", "ld.param.u64 %rd3, [k_param_2+8];",
       "gate.parameters"},
      {"read before the parameters", "", "", "ld.param.u64 %rd3, [k_param_0-8];",
       "gate.parameters"},
      {"read over a parameter's end", "", "", "ld.param.u64 %rd3, [k_param_2];", "gate.parameters"},
      {"extern malloc", ".extern .func (.param .b64 r) malloc(.param .b64 s);\n", "", "",
       "gate.extern"},
      {"extern printf", ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n",
       "", "", "gate.extern"},
      {"extern variable", ".extern .global .align 4 .b8 host[4];\n", "", "", "gate.extern"},
      {"counter stored", ".global .align 4 .u32 calls;\n", "", "st.global.u32 [calls], %r1;",
       "gate.state"},
      {"counter by atomic", ".global .align 4 .u32 calls;\n", "",
       "atom.global.add.u32 %r1, [calls], 1;", "gate.state"},
      {"counter by reduction", ".global .align 4 .u32 calls;\n", "",
       "red.global.add.u32 [calls], 1;", "gate.state"},
      {"cache through a register", ".global .align 4 .b8 cache[1024];\n", "",
       "mov.u64 %rd3, cache;\n\tadd.s64 %rd4, %rd3, 16;\n\tst.global.f32 [%rd4+4], %f1;",
       "gate.state"},
      {"cache through a generic address", ".global .align 4 .b8 cache[1024];\n", "",
       "mov.u64 %rd3, cache;\n\tcvta.global.u64 %rd4, %rd3;\n\tst.f32 [%rd4], %f1;", "gate.state"},
      {"cache through a chosen address", ".global .align 4 .b8 cache[1024];\n", "",
       "mov.u64 %rd3, cache;\n\tselp.b64 %rd4, %rd3, %rd2, %p1;\n\tst.global.f32 [%rd4], %f1;",
       "gate.state"},
      {"address kept in shared memory",
       ".global .align 4 .b8 cache[1024];\n.shared .align 8 .b64 s;\n", "",
       "mov.u64 %rd3, cache;\n\tst.shared.u64 [s], %rd3;", "gate.state"},
      {"address held by another variable",
       ".global .align 4 .b8 cache[8];\n.global .align 8 .u64 p[1] = {cache};\n", "",
       "ld.global.u64 %rd3, [p];\n\tst.global.f32 [%rd3], %f1;", "gate.state"},
      {"bulk copy into a variable", ".global .align 16 .b8 cache[1024];\n", "",
       "cp.async.bulk.global.shared::cta.bulk_group [cache], [%r1], 16;", "gate.state"},
      {"constant memory by a generic address", ".const .align 4 .b8 c[16];\n", "",
       "mov.u64 %rd3, c;\n\tcvta.const.u64 %rd4, %rd3;\n\tst.f32 [%rd4], %f1;", "gate.state"},
      {"an address held by constant memory",
       ".global .align 4 .b8 cache[8];\n.const .align 8 .u64 p[1] = {cache};\n", "",
       "ld.const.u64 %rd3, [p];\n\tst.global.f32 [%rd3], %f1;", "gate.state"},
      {"asynchronous store", ".global .align 8 .b8 cache[8];\n", "",
       "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [cache], %r1, [%r2];",
       "gate.state"},
      {"bulk reduction", ".global .align 16 .b8 cache[1024];\n", "",
       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [cache], [%r1], 16;",
       "gate.state"},
      {"compare and swap", ".global .align 4 .u32 lock;\n", "",
       "atom.global.cas.b32 %r1, [lock], 0, 1;", "gate.state"},
      {"declared in the body", "", "",
       ".global .align 4 .u32 calls;\n\tst.global.u32 [calls], %r1;", "gate.state"},
      {"returned in a register",
       ".global .align 4 .b8 cache[8];\n.func (.reg .b64 q) f()\n{\n\tmov.u64 q, "
       "cache;\n\tret;\n}\n",
       "", "call (%rd3), f, ();\n\tst.global.f32 [%rd3], %f1;", "gate.state"},
      {"passed to a function",
       ".global .align 4 .b8 cache[8];\n.func f(.param .b64 q)\n{\n\tret;\n}\n", "",
       "mov.u64 %rd3, cache;\n\t{\n\t.param .b64 p;\n\tst.param.b64 [p], %rd3;\n\tcall f, "
       "(p);\n\t}",
       "gate.state"},
      {"laundered by guards", ".global .align 4 .b8 cache[8];\n", "",
       "mov.u64 %rd3, cache;\n\tand.b64 %rd4, %rd3, 1;\n\tsetp.ne.u64 %p1, %rd4, 0;\n\tmov.u64 "
       "%rd5, 0;\n\t@%p1 or.b64 %rd5, "
       "%rd5, 1;\n\tst.global.f32 [%rd5], %f1;",
       "gate.state"},
      {"laundered by branches", ".global .align 4 .b8 cache[8];\n", "",
       "mov.u64 %rd3, cache;\n\tsetp.gt.u64 %p1, %rd3, 4096;\n\t@%p1 bra L;\n\tmov.u64 %rd5, "
       "1;\n\tL:",
       "gate.state"},
      {"laundered by a table in shared memory",
       ".global .align 4 .b8 cache[8];\n.shared .align 4 .b8 s[1024];\n", "",
       "mov.u64 %rd3, cache;\n\tcvt.u32.u64 %r2, %rd3;\n\tand.b32 %r3, %r2, 255;\n\tmov.u32 %r4, "
       "s;\n\tadd.u32 %r5, %r4, "
       "%r3;\n\tld.shared.u8 %r6, [%r5];\n\tst.global.u32 [%rd2], %r6;",
       "gate.state"},
      {"laundered by a table of its own", ".global .align 1 .b8 t[256] = {0, 1, 2};\n", "",
       "mov.u64 %rd3, t;\n\tand.b64 %rd4, %rd3, 255;\n\tadd.u64 %rd5, %rd3, %rd4;\n\tld.global.u8 "
       "%r6, [%rd5];\n\t"
       "st.global.u32 [%rd2], %r6;",
       "gate.state"},
      {"laundered by adding two addresses", ".global .align 1 .b8 t[256] = {0, 1, 2};\n", "",
       "mov.u64 %rd3, t;\n\tadd.u64 %rd4, %rd3, %rd3;\n\tsub.u64 %rd5, %rd4, 4096;\n\tld.global.u8 "
       "%r6, [%rd5];\n\t"
       "st.global.u32 [%rd2], %r6;",
       "gate.state"},
      {"laundered by a carry", ".global .align 4 .b8 cache[8];\n", "",
       "mov.u64 %rd3, cache;\n\tcvt.u32.u64 %r2, %rd3;\n\tadd.cc.u32 %r3, %r2, -1;\n\taddc.u32 "
       "%r4, 0, 0;\n\tst.global.u32 "
       "[%rd2], %r4;",
       "gate.state"},
      {"stored under a guard", ".global .align 4 .b8 cache[8];\n.shared .align 4 .b32 s;\n", "",
       "mov.u64 %rd3, cache;\n\tsetp.gt.u64 %p1, %rd3, 4096;\n\t@%p1 st.shared.u32 [s], 1;",
       "gate.state"},
      {"address given away", ".global .align 4 .b8 cache[8];\n", "",
       "mov.u64 %rd3, cache;\n\tst.global.u64 [%rd2], %rd3;", "gate.state"},
      {"trap", "", "", "trap;", "gate.forbidden"},
      {"a timer", "", "", "mov.u64 %rd3, %clock64;", "gate.forbidden"},
      {"a timer in a vector", "", "", "mov.b64 %rd3, {%clock, %clock_hi};", "gate.forbidden"},
      {"the global timer", "", "", "mov.u64 %rd3, %globaltimer;", "gate.forbidden"},
      {"the launch counter", "", "", "mov.u32 %r1, %gridid;", "gate.forbidden"},
      {"a performance counter", "", "", "mov.u32 %r1, %pm0;", "gate.forbidden"},
      {"a register the driver sets", "", "", "mov.u32 %r1, %envreg3;", "gate.forbidden"},
      {"discard", "", "", "discard.global.L2 [%rd2], 128;", "gate.forbidden"},
      {"a video instruction", "", "", "vset.s32.s32.lt %r1, %r2, %r3;", "gate.forbidden"},
      {"a texture", "", "", "txq.width.b32 %r1, [%rd2];", "gate.forbidden"},
      {"an absolute address", "", "", "st.global.f32 [4096], %f1;", "gate.forbidden"},
      {"pragma of the module", ".pragma \"frobnicate\";\n", "", "", "gate.forbidden"},
      {"alias", ".alias f, g;\n", "", "", "gate.forbidden"},
      {"clusters counted as blocks", "", ".blocksareclusters", "", "gate.forbidden"},
      {"parameters of a call over the cap", "", "", ".param .align 4 .b8 d[1073741824];",
       "gate.size"},
      {"breakpoint", "", "", "brkpt;", "gate.forbidden"},
      {"system atomic", "", "", "atom.global.sys.add.u32 %r1, [%rd2], 1;", "gate.forbidden"},
      {"system reduction", "", "", "red.relaxed.sys.global.add.u32 [%rd2], 1;", "gate.forbidden"},
      {"multimem", "", "", "multimem.red.relaxed.sys.global.add.u32 [%rd2], %r1;",
       "gate.forbidden"},
      {"unknown opcode", "", "", "frobnicate.b32 %r1, %r2;", "gate.forbidden"},
      {"unknown pragma", "", "", ".pragma \"frobnicate\";", "gate.forbidden"},
      {"static shared 1 GiB", ".shared .align 4 .b8 s[1073741824];\n", "", "", "gate.size"},
      {"static shared over the cap", ".shared .align 4 .b8 s[232452];\n", "",
       "ld.shared.f32 %f2, [s];", "gate.size"},
      {"static global 3 GiB", ".global .align 4 .b8 g[3221225472];\n", "", "", "gate.size"},
      {"constant table over 64 KiB", ".const .align 4 .b8 t[65540];\n", "", "", "gate.size"},
      {"initialised table over 64 KiB", ".global .align 4 .b8 t[65540] = {1};\n", "",
       "ld.global.f32 %f2, [t];", "gate.size"},
      {"local 1 GiB", "", "", ".local .align 4 .b8 d[1073741824];", "gate.size"},
  }));
  INFO(c.name);
  testing::expect_code(code_of(module_text(c.scope, c.directives, c.body)), c.code);
}

TEST_CASE("Textures pass where the plan binds some, and edited tensor maps do") {
  for (const char* line :
       {"tex.1d.v4.f32.s32 {%f1, %f1, %f1, %f1}, [%rd2, {%r1}];", "suq.width.b32 %r1, [%rd2];",
        "sust.b.1d.b32.trap [%rd2, {%r1}], {%r2};"}) {
    INFO(line);
    const auto module = ptx::parse(module_text("", "", line));
    REQUIRE(module);
    CHECK(ptx::check_instructions(*module));
    CHECK_FALSE(ptx::check_instructions(*module, false, ptx::Whose::candidate, true));
  }
  const auto edited = ptx::parse(
      module_text("", "", "tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd3;"));
  REQUIRE(edited);
  CHECK_FALSE(ptx::check_instructions(*edited));
}

TEST_CASE("A static array of any size is a matter of size, not of syntax") {
  for (const char* scope :
       {".shared .align 4 .b8 s[1099511627776];\n", ".global .align 4 .b8 g[1099511627776];\n",
        ".global .align 8 .b64 g[18446744073709551615];\n",
        ".global .align 8 .b64 g[4294967296][4294967296][4294967296];\n"}) {
    testing::expect_code(code_of(module_text(scope, "", "")), "gate.size");
  }
}

TEST_CASE("Honest PTX passes") {
  const auto c = GENERATE(values<Case>({
      {"nothing", "", "", "", ""},
      {"a large table that no code names", ".global .align 4 .b8 t[65540] = {1};\n", "", "", ""},
      {"dynamic shared memory", ".extern .shared .align 16 .b8 dyn[];\n", "",
       "ld.shared.f32 %f2, [dyn];", ""},
      {"a small table", ".global .align 4 .b8 t[16] = {1, 2, 3};\n", "",
       "ld.global.f32 %f2, [t+4];", ""},
      {"a table by pointer", ".global .align 4 .b8 t[16] = {1, 2, 3};\n", "",
       "mov.u64 %rd3, t;\n\tcvta.global.u64 %rd4, %rd3;\n\tadd.s64 %rd5, %rd4, %rd2;\n\tld.f32 "
       "%f2, [%rd5];",
       ""},
      {"a table copied to shared memory",
       ".global .align 16 .b8 t[64] = {1};\n.shared .align 16 .b8 s[64];\n", "",
       "mov.u64 %rd3, t;\n\tmov.u32 %r2, s;\n\tcp.async.ca.shared.global [%r2], [%rd3], 16;", ""},
      {"a variable nobody uses", ".global .align 4 .u32 calls;\n", "", "", ""},
      {"constants", ".const .align 4 .b8 t[65536];\n", "", "ld.const.f32 %f2, [t];", ""},
      {"half a parameter", "", "", "ld.param.u32 %r1, [k_param_1+4];", ""},
      {"launch bounds", "", ".maxntid 256, 1, 1\n.minnctapersm 2", "", ""},
      {"an inner function", ".func helper()\n{\n\tret;\n}\n", "", "call.uni helper, ();", ""},
      {"device atomic", "", "", "atom.global.gpu.add.u32 %r1, [%rd2], 1;", ""},
      {"an element chosen by a predicate of data",
       ".global .align 4 .b8 t[16] = {1};\n.global .align 4 .b8 u[16] = {2};\n", "",
       "setp.gt.f32 %p1, %f1, 0f00000000;\n\tmov.u64 %rd3, t;\n\tmov.u64 %rd4, u;\n\tselp.b64 "
       "%rd5, %rd3, %rd4, %p1;\n\t"
       "ld.global.f32 %f2, [%rd5];\n\tst.global.f32 [%rd2], %f2;",
       ""},
      {"an element by multiply-add", ".const .align 4 .b8 t[64];\n", "",
       "mov.u64 %rd3, t;\n\tmad.wide.u32 %rd4, %r1, 4, %rd3;\n\tld.const.f32 %f2, "
       "[%rd4];\n\tst.global.f32 [%rd2], %f2;",
       ""},
      {"cache policies", "", "", "createpolicy.fractional.L2::evict_last.b64 %rd3;", ""},
      {"a multiprocessor's number", "", "", "mov.u32 %r1, %smid;", ""},
      {"back-off", "", "", "nanosleep.u32 20;", ""},
      {"no unrolling", "", "", ".pragma \"nounroll\";", ""},
  }));
  INFO(c.name);
  CHECK(code_of(module_text(c.scope, c.directives, c.body)).empty());
}

TEST_CASE("An indirect call is refused, a direct one is not") {
  const std::string scope =
      ".func (.param .b32 r) f(.param .b32 a)\n{\n\t.reg .b32 %q<2>;\n\tst.param.b32 [r], "
      "%q1;\n\tret;\n}\n";
  const std::string body =
      "mov.u64 %rd3, f;\n\t{\n\t.param .b32 p;\n\t.param .b32 q;\n\tproto: .callprototype (.param "
      ".b32 _) _ (.param .b32 _);\n\t"
      "call (q), %rd3, (p), proto;\n\t}";
  testing::expect_code(code_of(module_text(scope, "", body)), "gate.forbidden");
  const std::string direct = "{\n\t.param .b32 p;\n\t.param .b32 q;\n\tcall.uni (q), f, (p);\n\t}";
  CHECK(code_of(module_text(scope, "", direct)).empty());
}

TEST_CASE("Parameters must match the plan in count, size and alignment") {
  const std::string text = module_text("", "", "");
  const auto with = [&](std::vector<ExpectedParameter> parameters) {
    ExpectedEntry entry = expected_k();
    entry.parameters = std::move(parameters);
    return code_of(text, entry);
  };
  CHECK(with({{8, 8}, {8, 8}, {4, 4}}).empty());
  CHECK(with({{8, 8}, {0, 0}, {0, 0}}).empty());
  CHECK(with({{8, 8}, {8, 8}}) == "gate.parameters");
  CHECK(with({{8, 8}, {8, 8}, {4, 4}, {4, 4}}) == "gate.parameters");
  CHECK(with({{8, 8}, {4, 4}, {4, 4}}) == "gate.parameters");
  CHECK(with({{8, 8}, {8, 8}, {8, 8}}) == "gate.parameters");
  CHECK(with({{128, 64}, {8, 8}, {4, 4}}) == "gate.parameters");

  const std::string map =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 64 .b8 "
      "m[128])\n{\n\tret;\n}\n";
  const std::string loose =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 8 .b8 "
      "m[128])\n{\n\tret;\n}\n";
  const std::string pair =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .align 4 .b8 "
      "m[8])\n{\n\tret;\n}\n";
  ExpectedEntry entry = expected_k();
  entry.parameters = {{128, 64}};
  CHECK(code_of(map, entry).empty());
  testing::expect_code(code_of(loose, entry), "gate.parameters");
  entry.parameters = {{8, 8}};
  testing::expect_code(code_of(pair, entry), "gate.parameters");
}

TEST_CASE("Entries the plan names must be there") {
  ExpectedEntry entry = expected_k();
  entry.name = "";
  entry.source_name = "gemm";
  const std::string none = ".version 9.0\n.target sm_90a\n.address_size 64\n";
  testing::expect_code(code_of(none, entry), "gate.missing_entry");
  testing::expect_code(code_of(none, expected_k()), "gate.missing_entry");
}

TEST_CASE("Launch directives must agree with the plan") {
  const auto with = [&](const std::string& directives, std::array<std::int64_t, 3> block,
                        std::array<std::int64_t, 3> cluster) {
    ExpectedEntry entry = expected_k();
    entry.block = block;
    entry.cluster = cluster;
    return code_of(module_text("", directives, ""), entry);
  };
  const std::array<std::int64_t, 3> unknown{};
  CHECK(with(".maxntid 128, 1, 1", {128, 1, 1}, unknown).empty());
  CHECK(with(".maxntid 128, 1, 1", {16, 8, 1}, unknown).empty());
  testing::expect_code(with(".maxntid 128, 1, 1", {129, 1, 1}, unknown), "gate.launch_bounds");
  CHECK(with(".maxntid 128, 1, 1", unknown, unknown).empty());
  CHECK(with(".reqntid 16, 8, 1", {16, 8, 1}, unknown).empty());
  CHECK(with(".reqntid 16, 8, 1", {128, 1, 1}, unknown) == "gate.launch_bounds");
  CHECK(with(".reqnctapercluster 2, 1, 1", unknown, {2, 1, 1}).empty());
  CHECK(with(".reqnctapercluster 2, 1, 1", unknown, {1, 2, 1}) == "gate.launch_bounds");
  CHECK(with(".maxclusterrank 4", unknown, {4, 2, 1}) == "gate.launch_bounds");
}

TEST_CASE("A refusal names the PTX line") {
  const auto refused = gate(parsed(module_text("", "", "trap;")), std::array{expected_k()});
  REQUIRE(refused);
  CHECK(refused->where == "ptx line 20");
}

}  // namespace
}  // namespace cupilot::ptx
