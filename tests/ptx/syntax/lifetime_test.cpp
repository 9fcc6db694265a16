// Where registers hold values that may still be read.
#include "ptx/syntax/lifetime.hpp"

#include <map>

#include "catch.hpp"
#include "ptx/syntax/parser.hpp"

using namespace cupilot;

namespace {

std::map<std::string, ptx::Lifetime> lifetimes_of(const std::string& body) {
  const auto module = ptx::parse(
      ".version 9.0 .target sm_90a .address_size 64 .entry k() { .reg .f32 %f<9>; .reg .b32 "
      "%r<9>; .reg .b64 %l<9>; .reg .pred %p<9>; " +
      body + " }");
  REQUIRE(module);
  const ptx::Function& function = module->functions[0];
  const std::vector<ptx::Lifetime> found = ptx::lifetimes(*module, function);
  REQUIRE(found.size() == function.registers.size());
  std::map<std::string, ptx::Lifetime> all;
  for (std::size_t i = 0; i < found.size(); ++i) all[function.registers[i].name] = found[i];
  return all;
}

}  // namespace

TEST_CASE("a register lives from its first write to its last read", "[lifetime]") {
  struct Row {
    const char *what, *body, *name;
    std::uint32_t first, last;
    bool alone;
  };
  const Row rows[] = {
      {"straight", "mov.b32 %r1, 1; mov.b32 %r2, 2; add.s32 %r3, %r1, %r2; mov.b32 %r4, %r3; ret;",
       "%r1", 0, 2, false},
      {"a result lives while operands do",
       "mov.b32 %r1, 1; mov.b32 %r2, 2; add.s32 %r3, %r1, %r2; mov.b32 %r4, %r3; ret;", "%r3", 2, 3,
       false},
      {"nobody reads it", "mov.b32 %r1, 1; mov.b32 %r2, 2; ret;", "%r1", 0, 0, false},
      {"an address and a part of a vector",
       "mov.b64 %l1, 0; mov.b32 %r1, 1; st.global.v2.b32 [%l1], {%r1, %r1}; ret;", "%r1", 1, 2,
       false},
      {"a loop reads it in every round",
       "mov.b32 %r1, 1; mov.b32 %r2, 0; L: add.s32 %r2, %r2, %r1; mov.b32 %r3, %r2; "
       "setp.lt.s32 %p1, %r3, 9; @%p1 bra L; mov.b32 %r4, 0; ret;",
       "%r1", 0, 5, false},
      {"a loop gives it to its next round",
       "mov.b32 %r2, 0; L: mov.b32 %r3, %r2; mov.b32 %r5, 1; add.s32 %r2, %r3, %r5; "
       "setp.lt.s32 %p1, %r3, 9; @%p1 bra L; ret;",
       "%r2", 0, 5, false},
      {"within a round",
       "mov.b32 %r2, 0; L: mov.b32 %r3, %r2; mov.b32 %r5, 1; add.s32 %r2, %r3, %r5; "
       "setp.lt.s32 %p1, %r3, 9; @%p1 bra L; ret;",
       "%r5", 2, 3, false},
      {"one side of a branch reads it, behind the other",
       "mov.b32 %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; mov.b32 %r2, 0; bra M; "
       "L: mov.b32 %r3, %r1; M: ret;",
       "%r1", 0, 5, false},
      {"one side alone writes it",
       "mov.b32 %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; mov.b32 %r2, 0; "
       "L: mov.b32 %r3, %r2; ret;",
       "%r2", 0, 4, true},
      {"both sides write it",
       "mov.b32 %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra L; mov.b32 %r2, 0; bra M; "
       "L: mov.b32 %r2, 5; M: mov.b32 %r3, %r2; ret;",
       "%r2", 3, 6, false},
      {"read before it is written", "mov.b32 %r2, %r1; mov.b32 %r1, 0; ret;", "%r1", 0, 1, true},
      {"written under a predicate",
       "setp.lt.s32 %p1, 1, 9; @%p1 mov.b32 %r1, 1; mov.b32 %r2, %r1; ret;", "%r1", 0, 2, true},
      {"written under a predicate again",
       "mov.b32 %r1, 0; setp.lt.s32 %p1, 1, 9; @%p1 mov.b32 %r1, 1; mov.b32 %r2, %r1; ret;", "%r1",
       0, 3, false},
      {"a shuffle may read it of any lane",
       "mov.b32 %r1, 1; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; mov.b32 %r3, 0; ret;", "%r1", 0, 1,
       true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const auto all = lifetimes_of(row.body);
    const auto found = all.find(row.name);
    REQUIRE(found != all.end());
    CHECK(found->second.first == row.first);
    CHECK(found->second.last == row.last);
    CHECK(found->second.alone == row.alone);
  }
}
