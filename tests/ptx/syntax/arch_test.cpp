// PTX of a user's own against the architecture it is to run on.
#include "ptx/syntax/arch.hpp"
#include "catch.hpp"
#include "ptx/syntax/parser.hpp"
#include "tests/support/reached.hpp"

using namespace cupilot;

TEST_CASE("a module runs on its target's architecture and later ones, an a-target on its own only",
          "[arch]") {
  struct Row {
    const char *target, *arch;
    bool runs;
  };
  const Row rows[] = {
      {"sm_80", "sm_80", true},   {"sm_80", "sm_90a", true},   {"sm_70", "sm_89", true},
      {"sm_89", "sm_89", true},   {"sm_90", "sm_90a", true},   {"sm_90a", "sm_90a", true},
      {"sm_89", "sm_80", false},  {"sm_90", "sm_89", false},   {"sm_90a", "sm_80", false},
      {"sm_90a", "sm_89", false}, {"sm_100", "sm_90a", false}, {"sm_80a", "sm_90a", false}};
  for (const Row& row : rows) {
    CAPTURE(row.target, row.arch);
    const auto module = ptx::parse(std::string(".version 9.0 .target ") + row.target +
                                   " .address_size 64 .entry k() { ret; }");
    REQUIRE(module);
    const auto refused = ptx::check_arch(*module, row.arch);
    CHECK(refused.has_value() == !row.runs);
    if (!row.runs && refused) testing::expect_code(*refused, "load.failed");
  }
}

TEST_CASE("an instruction of a later architecture than the target's is refused with its line",
          "[arch]") {
  struct Row {
    const char *instruction, *needs;  // "": runs everywhere
  };
  const Row rows[] = {{"wgmma.fence.sync.aligned;", "sm_90a"},
                      {"setmaxnreg.inc.sync.aligned.u32 64;", "sm_90a"},
                      {"barrier.cluster.arrive;", "sm_90"},
                      {"fence.proxy.async;", "sm_90"},
                      {"fence.acq_rel.cluster;", "sm_90"},
                      {"cp.async.bulk.commit_group;", "sm_90"},
                      {"griddepcontrol.wait;", "sm_90"},
                      {"add.bf16x2 %r1, %r2, %r3;", "sm_90"},
                      {"cvt.rn.f16x2.e4m3x2 %r1, %h1;", "sm_89"},
                      {"fma.rn.bf16x2 %r1, %r2, %r3, %r4;", ""},
                      {"cp.async.commit_group;", ""},
                      {"fence.acq_rel.gpu;", ""},
                      {"bar.sync 0;", ""}};
  for (const Row& row : rows) {
    CAPTURE(row.instruction);
    const auto module =
        ptx::parse(std::string(".version 9.0 .target sm_80 .address_size 64\n.entry k() {\n.reg "
                               ".b32 %r<9>; .reg .b16 %h<9>;\n") +
                   row.instruction + "\nret; }");
    REQUIRE(module);
    const auto refused = ptx::check_arch(*module, "sm_80");
    CHECK(refused.has_value() == (row.needs[0] != '\0'));
    if (!refused) continue;
    CHECK(refused->message.find(std::string("needs ") + row.needs + ",") != std::string::npos);
    CHECK(refused->where.find("ptx line 4") != std::string::npos);
  }
}
