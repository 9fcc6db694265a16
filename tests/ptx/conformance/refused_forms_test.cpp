// What the interpreter cannot run is refused by name and line.
#include <string>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "support/reached.hpp"

using namespace support;

TEST_CASE("an instruction or operand that cannot run is refused by name and line",
          "[conformance]") {
  const auto refusal = [](const std::string& body) {
    const auto module = module_of(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b32 %r<4>; .reg .b64 "
        "%rd<4>; .reg .pred %p<4>; .reg "
        ".f32 %f<4>;\n" +
        body + "\nret;\n}\n");
    auto program = ptx::make_program(module, "k");
    if (!program.is_rejected()) return std::string("runs");
    cupilot::testing::expect_code(program.rejected(), "run.unsupported");
    return program.rejected().message + " @ " + program.rejected().where;
  };
  CHECK(refusal("frobnicate.b32 %r1, %r2;").find("frobnicate.b32") == 0);
  CHECK(refusal("frobnicate.b32 %r1, %r2;").find("ptx line 6") != std::string::npos);
  CHECK(refusal("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16;").find("wgmma.mma_async") ==
        0);
  CHECK(refusal("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r1}, %rd1, %rd1, 0;")
            .find("shape") != std::string::npos);
  CHECK(refusal("add.s32 %r1, %r2;").find("operands") != std::string::npos);
  CHECK(refusal("add.s32 %rd1, %r2, %r3;").find("64 bits where 32") != std::string::npos);
  CHECK(refusal("add.f33 %r1, %r2, %r3;") != "runs");
  CHECK(refusal("mov.b64 %rd1, {%r1, %r2, %r3};") != "runs");
  CHECK(refusal("ld.global.v4.f32 {%f1, %f2}, [%rd1];") != "runs");
  CHECK(refusal("ld.param.f32 %f1, [%r1];") == "runs");
  CHECK(refusal("shfl.sync.idx.b32 _, %r1, 0, 31, -1;") != "runs");
  CHECK(refusal("fence.mbarrier_init.release.cta;") != "runs");
  CHECK(refusal("fence.mbarrier_init.release.cluster;") == "runs");
  CHECK(refusal("add.s32 %r1, %r2, %r3;") == "runs");
}
