// A kernel without what its addresses and its way do not need.
#include "ptx/syntax/ways.hpp"

#include "catch.hpp"
#include "ptx/syntax/parser.hpp"

using namespace cupilot;

namespace {

// A letter an instruction: k for one that stays, - for one that was left out; "": all stay, for
// what is loaded decides.
std::string kept_of(const std::string& body) {
  const auto module = ptx::parse(
      ".version 9.0 .target sm_90a .address_size 64 .shared .b32 last; .shared .f32 tile[64]; "
      ".entry k() { .reg .f32 %f<9>; .reg .b32 "
      "%r<9>; .reg .b64 %l<9>; .reg .pred %p<9>; " +
      body + " }");
  REQUIRE(module);
  const auto left = ptx::without_values(*module, 0);
  if (!left) return "";
  const auto& all = left->functions[0].instructions;
  REQUIRE(all.size() == module->functions[0].instructions.size());
  std::string out;
  for (const ptx::Instruction& one : all)
    out += left->form(one).opcode == ptx::Opcode::op_prefetch ? '-' : 'k';
  return out;
}

}  // namespace

TEST_CASE("arithmetic that leads to no address and no branch is left out", "[ways]") {
  struct Row {
    const char *what, *body, *kept;
  };
  const Row rows[] = {
      {"a load's address",
       "mov.b64 %l1, 0; add.s64 %l2, %l1, 4; ld.global.f32 %f1, [%l2]; mul.f32 %f2, %f1, %f1; "
       "st.global.f32 [%l2], %f2; ret;",
       "kkk--k"},
      {"a loop's count",
       "mov.b32 %r1, 0; mov.b32 %r2, 0; L: add.s32 %r1, %r1, 1; add.s32 %r2, %r2, 3; "
       "setp.lt.s32 %p1, %r1, 9; @%p1 bra L; ret;",
       "k-k-kkk"},
      {"a guard of what stays",
       "setp.lt.s32 %p1, 1, 9; setp.lt.s32 %p2, 1, 9; mov.b64 %l1, 0; @%p1 ld.global.f32 %f1, "
       "[%l1]; @%p2 mov.f32 %f2, %f1; ret;",
       "k-kk-k"},
      {"products of shared memory",
       "mov.b32 %r1, 0; cp.async.ca.shared.global [%r1], [%l1], 4; bar.sync 0; ld.shared.f32 %f1, "
       "[%r1]; fma.rn.f32 %f2, %f1, %f1, %f1; st.shared.f32 [%r1], %f2; ret;",
       "kkk---k"},
      {"an update without a result",
       "mov.f32 %f1, 0f00000000; red.global.add.f32 [%l1], %f1; "
       "atom.global.add.f32 %f2, [%l1], %f1; ret;",
       "---k"},
      {"a carry stays with its sum",
       "mov.b32 %r1, 1; add.cc.u32 %r2, %r1, %r1; addc.u32 %r3, %r1, %r1; ret;", "kkkk"},
      {"a parameter may decide",
       "mov.b32 %r2, 2; ld.const.b32 %r1, [%l1]; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; L: ret;",
       "-kkkk"},
      {"an index from global memory", "ld.global.b64 %l2, [%l1]; ld.global.f32 %f1, [%l2]; ret;",
       ""},
      {"a choice from shared memory",
       "ld.shared.b32 %r1, [%r2]; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; L: ret;", ""},
      {"a choice from a variable in shared memory, a tile beside it",
       "mov.f32 %f1, 0f00000000; mov.b32 %r3, 5; st.shared.f32 [tile], %f1; st.shared.b32 [last], "
       "%r3; ld.shared.f32 %f2, [tile]; ld.shared.b32 %r1, [last]; setp.lt.s32 %p1, %r1, 9; @%p1 "
       "bra L; L: ret;",
       "-k-k-kkkk"},
      {"a ticket decides, sums are stored",
       "mov.b32 %r3, 0; st.global.v2.b32 [%l2], {%r3, %r3}; atom.global.add.u32 %r1, [%l1], 1; "
       "setp.lt.s32 %p1, %r1, 9; @%p1 bra L; atom.global.exch.b32 %r2, [%l1], 0; st.global.b32 "
       "[%l1], 0; L: ret;",
       "--kkkkkk"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(kept_of(row.body) == row.kept);
  }
}
