#include "backend/compile/log.hpp"

#include "catch.hpp"
#include "support/reached.hpp"

namespace cupilot {
namespace {

// As NVRTC 13.0 writes it.
constexpr std::string_view log_text = R"(ptxas info    : 20 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for helper
ptxas         .     16 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for k
ptxas         .     272 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 272 bytes cumulative stack size
ptxas info    : Compile time = 26.061 ms
ptxas info    : Compiling entry function '_Z2stILi32EEvPKfPfi' for 'sm_90a'
ptxas info    : Function properties for _Z2stILi32EEvPKfPfi
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers, 128 bytes smem
)";

TEST_CASE("Registers, shared memory, stack and spills are read per entry") {
  const auto entries = read_assembler_log(log_text);
  REQUIRE(entries.size() == 2);
  const AssembledEntry& k = entries.at("k");
  CHECK(k.registers == 32);
  CHECK(k.stack_bytes == 272);
  CHECK(k.spill_store_bytes == 12);
  CHECK(k.spill_load_bytes == 12);
  CHECK(k.shared_bytes == 0);
  const AssembledEntry& st = entries.at("_Z2stILi32EEvPKfPfi");
  CHECK(st.registers == 14);
  CHECK(st.shared_bytes == 128);
}

TEST_CASE("A log that is no log gives nothing") {
  CHECK(read_assembler_log("").empty());
  CHECK(read_assembler_log("Used 32 registers\nbytes smem\n").empty());
  const auto odd = read_assembler_log(
      "ptxas info    : Compiling entry function 'a'\nptxas info    : Used 99999999999999999999 "
      "registers\n");
  CHECK(odd.at("a").registers == 0);
}

TEST_CASE("What a source writes about itself does not count") {
  const std::string quoted =
      "kernel.cu(3): warning #1105-D: #warning directive: ptxas info    : Compiling entry function "
      "'k' for 'sm_90a'\n"
      "kernel.cu(4): warning #1105-D: #warning directive: ptxas info    : Used 1 registers\n";
  CHECK(read_assembler_log(quoted).empty());
  // A #line directive can make a line begin like the assembler's; the assembler speaks last.
  const std::string forged =
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'(1): warning: x\n"
      "    0 bytes stack frame, 64 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 1 registers(1): warning: x\n";
  const auto entries = read_assembler_log(forged + std::string(log_text));
  CHECK(entries.at("k").registers == 32);
  CHECK(entries.at("k").spill_store_bytes == 12);
}

TEST_CASE("Serialised pipelines and ignored directives are found") {
  CHECK_FALSE(find_serialised(log_text));
  const auto found = find_serialised(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to x\n");
  REQUIRE(found);
  testing::expect_code(*found, "compile.serialised");
  CHECK(found->where == "C7510");
  CHECK_FALSE(find_serialised("ptxas warning : (C75) odd\nptxas info : (C4510) other\n"));
  const std::string as_part =
      "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain "
      "compatibility across compilation units.\n";
  CHECK_FALSE(find_serialised(as_part));
  CHECK(ignores_setmaxnreg(as_part));
  const std::string other =
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain "
      "minimum register requirements.\n";
  CHECK(find_serialised(as_part + other));
  CHECK_FALSE(ignores_setmaxnreg(other));
}

}  // namespace
}  // namespace cupilot
