// What a profile calls an instruction.
#include "ptx/syntax/kind.hpp"
#include "catch.hpp"
#include "ptx/syntax/parser.hpp"

using namespace cupilot;

TEST_CASE("every instruction has the kind that its opcode, type and space say", "[kind]") {
  struct Row {
    const char *instruction, *kind;
  };
  const Row rows[] = {{"fma.rn.f32 %f1, %f2, %f3, %f4;", "fp32 fma"},
                      {"fma.rn.f64 %d1, %d2, %d3, %d4;", "fp64"},
                      {"fma.rn.bf16x2 %r1, %r2, %r3, %r4;", "half"},
                      {"mad.lo.s32 %r1, %r2, %r3, %r4;", "integer"},
                      {"add.f32 %f1, %f2, %f3;", "fp32 add"},
                      {"sub.s64 %l1, %l2, %l3;", "integer"},
                      {"mul.f32 %f1, %f2, %f3;", "fp32 mul"},
                      {"setp.lt.f32 %p1, %f2, %f3;", "fp32 other"},
                      {"setp.lt.s32 %p1, %r2, %r3;", "integer"},
                      {"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", "integer"},
                      {"ex2.approx.f32 %f1, %f2;", "special"},
                      {"cvt.rn.f32.s32 %f1, %r2;", "convert"},
                      {"mov.u32 %r1, %tid.x;", "move"},
                      {"ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%l1];", "load global"},
                      {"ld.shared.f32 %f1, [%r1];", "load shared"},
                      {"ld.f32 %f1, [%l1];", "load generic"},
                      {"st.local.u32 [%l1], %r1;", "store local"},
                      {"st.shared.u32 [%r1], %r2;", "store shared"},
                      {"red.global.add.u32 [%l1], %r1;", "atomic global"},
                      {"atom.shared.add.u32 %r1, [%r2], %r3;", "atomic shared"},
                      {"cp.async.ca.shared.global [%r1], [%l1], 4;", "async copy"},
                      {"cp.async.wait_group 0;", "synchronize"},
                      {"bar.sync 0;", "synchronize"},
                      {"wgmma.fence.sync.aligned;", "synchronize"},
                      {"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "warp exchange"},
                      {"ret;", "control"}};
  for (const Row& row : rows) {
    CAPTURE(row.instruction);
    const auto module = ptx::parse(
        std::string(
            ".version 9.0 .target sm_90a .address_size 64 .entry k() { .reg .f32 %f<9>; .reg "
            ".f64 %d<9>; .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .pred %p<9>; ") +
        row.instruction + " }");
    REQUIRE(module);
    CHECK(ptx::kind_of(module->form(module->functions[0].instructions.at(0))) == row.kind);
  }
}
