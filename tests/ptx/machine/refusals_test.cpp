// Asynchronous, mbarrier and cluster forms with operands that do not fit: refused by name, or run
// to a fault, never worse.
#include <string>
#include <vector>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;

namespace {

// Whole instructions, every operand in place.
const char* const forms[] = {
    "mbarrier.init.shared::cta.b64 [%r1], %r2;",
    "mbarrier.inval.shared::cta.b64 [%r1];",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;",
    "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], %r2;",
    "mbarrier.arrive.shared::cta.b64 %rd1, [%r1];",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], %r2;",
    "mbarrier.arrive.expect_tx.shared::cta.b64 %rd1, [%r1], %r2;",
    "mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [%r1], %r2;",
    "mbarrier.arrive_drop.shared::cta.b64 %rd1, [%r1];",
    "mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd1;",
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2, %r3;",
    "mbarrier.pending_count.b64 %r1, %rd1;",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], "
    "[%rd1], %r2, [%r3], %rs1;",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], %r3, "
    "[%r4];",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [%r1], %r2, %rd2;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], %r2;",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], "
    "[%r2], %r3, [%r4];",
    "cp.async.bulk.prefetch.L2.global [%rd1], %r2;",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group.read 0;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
    "[%rd1, {%r2, %r3}], [%r4];",
    "cp.async.bulk.tensor.5d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, "
    "%r3, %r2, %r3, %r2}], [%r4];",
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2}], [%r1];",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group [%rd1, {%r2, %r3}], "
    "[%r1];",
    "cp.async.bulk.prefetch.tensor.2d.L2.global [%rd1, {%r2, %r3}];",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], {%r2, %r3}, [%r4];",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, "
    "[%r3];",
    "mapa.shared::cluster.u32 %r1, %r2, %r3;",
    "mapa.u64 %rd1, %rd2, %r3;",
    "getctarank.shared::cluster.u32 %r1, %r2;",
    "barrier.cluster.arrive.release.aligned;",
    "barrier.cluster.wait.acquire.aligned;",
    "setmaxnreg.inc.sync.aligned.u32 40;",
    "elect.sync %r1|%p1, %r2;",
    "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd1;",
    "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], %r2;",
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, %r2;",
    "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd1], 3, %rd2;",
    "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], 3;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
    "[%rd1], [%r1], 128;",
    "fence.proxy.tensormap::generic.release.gpu;",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;",
    "fence.proxy.async.shared::cta;",
    "fence.mbarrier_init.release.cluster;",
    "ld.shared::cluster.u32 %r1, [%r2];",
    "atom.shared::cluster.add.u32 %r1, [%r2], %r3;",
};

std::string module_with(const std::string& instruction) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n.reg .pred "
         "%p<4>;\n.reg .b16 %rs<4>;\n"
         ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<4>;\n.shared .align 128 .b8 "
         "s[256];\nmov.u32 %r1, s;\nmov.u32 %r2, "
         "16;\n"
         "mov.u32 %r3, s;\nmov.u32 %r4, s;\nmbarrier.init.shared.b64 [%r4+128], 1;\n" +
         instruction + "\nret;\n}\n";
}

enum class Outcome { refused, faulty, well };

// What becomes of the text; a bad one must end in one of these.
Outcome outcome(const std::string& instruction) {
  auto parsed = ptx::parse(module_with(instruction));
  if (parsed.is_rejected()) return Outcome::refused;
  auto program = ptx::make_program(std::make_shared<const ptx::Module>(std::move(*parsed)), "k");
  if (program.is_rejected()) {
    CHECK(program.rejected().code == "run.unsupported");
    CHECK(program.rejected().where.find("ptx line") != std::string::npos);
    return Outcome::refused;
  }
  REQUIRE(program);
  ptx::DeviceMemory memory;
  ptx::Launch launch{.grid = {1}, .block = {32}, .dynamic_shared = 0, .parameters = {}};
  ptx::ExecuteOptions options;
  options.instruction_budget = 2000;
  options.late = instruction.size() % 2 == 0;
  auto report = ptx::execute(**program, memory, launch, options);
  REQUIRE(report);
  return report->faults.empty() ? Outcome::well : Outcome::faulty;
}

// Operands of an instruction, braces and brackets kept together.
std::vector<std::string> operands_of(const std::string& text, std::string& head) {
  const std::size_t space = text.find(' ');
  head = text.substr(0, std::min(space, text.size() - 1));
  std::vector<std::string> out;
  if (space == std::string::npos) return out;
  std::string piece;
  int depth = 0;
  for (const char c : text.substr(space + 1)) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if ((c == ',' && depth == 0) || c == ';') {
      out.push_back(piece);
      piece.clear();
    } else if (c != ' ' || !piece.empty()) {
      piece += c;
    }
  }
  return out;
}

std::string joined(const std::string& head, const std::vector<std::string>& operands) {
  std::string out = head;
  for (std::size_t i = 0; i < operands.size(); ++i) out += (i == 0 ? " " : ", ") + operands[i];
  return out + ";";
}

}  // namespace

TEST_CASE("every asynchronous form decodes", "[refusals]") {
  for (const char* form : forms) {
    INFO(form);
    CHECK(outcome(form) != Outcome::refused);
  }
}

TEST_CASE("asynchronous forms with other operands are refused or fault", "[refusals]") {
  const char* const others[] = {"%p1",
                                "%rs1",
                                "%r2",
                                "%rd1",
                                "_",
                                "7",
                                "0d3FF0000000000000",
                                "[%r1]",
                                "[%rd1]",
                                "[s]",
                                "[0]",
                                "{%r1, %r2}",
                                "{%rd1}",
                                "%r1|%p1",
                                "s",
                                "k",
                                "%tid.x",
                                "%clock",
                                "[%rd1, {%r1}]",
                                "[%r1+-8]",
                                "[%rs1]"};
  std::size_t refused = 0, tried = 0;
  for (const char* form : forms) {
    std::string head;
    const std::vector<std::string> operands = operands_of(form, head);
    const auto attempt = [&](const std::string& text) {
      INFO(text);
      ++tried;
      refused += outcome(text) == Outcome::refused ? 1 : 0;
    };
    for (std::size_t i = 0; i < operands.size(); ++i) {
      auto fewer = operands;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      attempt(joined(head, fewer));
      for (const char* other : others) {
        auto changed = operands;
        changed[i] = other;
        attempt(joined(head, changed));
      }
    }
    auto more = operands;
    more.push_back("%r1");
    attempt(joined(head, more));
    for (std::size_t dot = head.find('.'); dot != std::string::npos;
         dot = head.find('.', dot + 1)) {
      const std::size_t end = std::min(head.find('.', dot + 1), head.size());
      attempt(joined(head.substr(0, dot) + head.substr(end), operands));
      attempt(joined(head.substr(0, dot) + ".v4" + head.substr(dot), operands));
    }
  }
  CHECK(tried > 2000);
  CHECK(refused > tried / 2);
}
