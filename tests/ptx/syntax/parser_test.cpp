// The parser on good, bad and mutated text.
#include <chrono>
#include <random>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "support/reached.hpp"

using namespace support;

namespace {

const std::string head = ".version 9.0\n.target sm_90a\n.address_size 64\n";

const std::string source = R"(
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
struct Box { float a; int b[5]; };
__device__ __noinline__ float helper(float x, int n) { for (int i = 0; i < n; i++) x = x * x + table[i & 3]; return x; }
extern "C" __global__ void __launch_bounds__(256, 2) k(const float* __restrict__ a, float* o, int n, const __grid_constant__ Box p) {
  extern __shared__ float s[]; __shared__ double d[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    s[threadIdx.x] = a[i]; d[threadIdx.x & 31] = erf((double)a[i]); __syncthreads();
    o[i] = helper(s[(threadIdx.x + 1) & 255], p.b[n % 5]) + __shfl_xor_sync(~0u, a[i], 1) + (float)d[i & 31];
    switch (n & 7) { case 0: o[0] = 1; break; case 1: o[1] = 3; break; case 2: o[5] = 2; break; case 3: o[7] = 5; break; case 4: o[9] = i; break; case 5: o[2] = 1; break; }
    asm volatile("{ .reg .pred p; .reg .b32 t; L1: setp.ne.b32 p, %0, 0; @p bra L2; mov.b32 t, 1; bra L1; L2: }" ::"r"(n));
    asm volatile("{ .reg .pred p; L1: setp.ne.b32 p, %0, 1; @!p bra L1; }" ::"r"(n));
    atomicAdd(&counter, 1);
  }
})";

}  // namespace

TEST_CASE("what NVRTC writes parses into what it says", "[parser]") {
  const auto module = module_of_cuda(source);
  CHECK(module->version_major == 9);
  CHECK(module->target == "sm_90a");
  const ptx::Function* k = module->entry("k");
  REQUIRE(k != nullptr);
  CHECK(module->entry("helper") == nullptr);
  CHECK(k->parameter_count == 4);
  CHECK(k->parameter(2).bytes == 4);
  CHECK(k->parameter(3).bytes == 24);
  CHECK(k->parameter(3).align == 4);
  CHECK(k->directive("maxntid") == std::vector<std::uint64_t>{256, 1, 1});
  CHECK(k->directive("minnctapersm") == std::vector<std::uint64_t>{2});
  CHECK(k->directive("reqntid").empty());
  const auto layout = ptx::parameter_layout(*k);
  CHECK(layout.offsets == std::vector<std::uint32_t>{0, 8, 16, 20});
  CHECK(layout.bytes == 44);
  bool table = false, dynamic = false;
  for (const ptx::Variable& v : module->variables) {
    if (v.name == "table") {
      table = true;
      CHECK(v.space == ptx::Space::constant);
      CHECK(v.initial.size() == 16);
      CHECK(v.initial[7] == 64);
    }
    if (v.space == ptx::Space::shared && v.is_extern) {
      dynamic = true;
      CHECK(v.bytes == 0);
      CHECK(v.align == 16);
    }
  }
  CHECK(table);
  CHECK(dynamic);
  bool placed = false;
  for (const ptx::Instruction& i : k->instructions) {
    const ptx::Form& f = module->form(i);
    if (f.opcode == ptx::Opcode::op_atom || f.opcode == ptx::Opcode::op_red) {
      placed = true;
      CHECK(i.source_line == 15);
      CHECK(module->file(i.source_file).find("test.cu") != std::string::npos);
      CHECK(f.space == ptx::Space::global);
    }
  }
  CHECK(placed);
}

TEST_CASE("scopes, labels and literals", "[parser]") {
  const auto module = module_of(head + R"(
.global .align 8 .u64 pointers[2] = {generic(data), data+8};
.global .f32 data[3] = {1.5, 0f40000000, -2};
.visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 64 .b8 map[128]) .maxntid 128, 2, 1 .pragma "nounroll"; {
  .reg .b32 %r<4>, x; .reg .b64 %rd<3>; .reg .pred p1;
  { .reg .b32 x; mov.b32 x, -1; bra DONE; DONE: }
  { .reg .b32 x; mov.u32 x, 0xffU; @!p1 bra DONE; DONE: mov.b32 %r1, x; }
  ld.global.v2.u32 {%r1, _}, [%rd1+-8];
  setp.lt.and.s32 p1|p1, %r1, %r2, !p1;
  mov.b64 %rd2, pointers;
  ts: .branchtargets A, B;
  brx.idx %r1, ts;
A: mov.b32 %r3, %tid.y;
B: ret;
})");
  const ptx::Function& k = *module->entry("k");
  CHECK(k.parameter(0).pointer);
  CHECK(k.parameter(0).pointee == ptx::Space::global);
  CHECK(k.parameter(0).align == 8);  // of the pointer; 16 is that of its memory
  CHECK(k.parameter(1).align == 64);
  CHECK(k.directive("maxntid") == std::vector<std::uint64_t>{128, 2, 1});
  REQUIRE(k.instructions.size() == 11);
  const auto operand = [&](std::size_t i, std::size_t o) {
    return k.operands[k.instructions[i].first_operand + o];
  };
  CHECK(operand(0, 0).index != operand(2, 0).index);  // two registers named x
  CHECK(operand(0, 1).bits == ~std::uint64_t{0});
  CHECK(operand(1, 0).index == 2);
  CHECK(operand(3, 0).index == 4);
  CHECK(k.instructions[3].guard_negated);
  CHECK(operand(2, 1).type == ptx::Type::u64);
  CHECK(operand(5, 1).offset == -8);
  CHECK(operand(5, 0).count == 2);
  CHECK(operand(6, 3).negated);
  CHECK(k.tables[0].targets == std::vector<std::uint32_t>{9, 10});
  CHECK(operand(9, 1).kind == ptx::OperandKind::special);
  CHECK(module->variables[0].symbolic_initial);
  CHECK(module->variables[1].initial.size() == 12);
}

TEST_CASE("a register is the nearest of its name", "[parser]") {
  const auto module = module_of(head + R"(
.entry k() {
  .reg .b32 %r<30000>; .reg .b64 %rd<30000>; .reg .f32 %f<30000>;
  mov.b32 %r7, %r3;
  { .reg .b16 %r<5>; mov.b32 %r3, %r7; mov.b32 %r3, %r7; mov.b64 %rd3, %rd3; }
  mov.b32 %r7, %r3;
  { .reg .b8 %r3; mov.b32 %r7, %r3; { mov.b32 %r3, %r7; } }
  mov.b32 %r7, %r3;
  mov.f32 %f29999, %f0;
  mov.f32 %f29999, %f0;
})");
  const ptx::Function& k = *module->entry("k");
  const auto type = [&](std::size_t i, std::size_t o) {
    return k.operands[k.instructions[i].first_operand + o].type;
  };
  const auto index = [&](std::size_t i, std::size_t o) {
    return k.operands[k.instructions[i].first_operand + o].index;
  };
  for (const std::size_t i : {1u, 2u}) {
    CHECK(type(i, 0) == ptx::Type::b16);
    CHECK(index(i, 1) == index(0, 0));
  }
  for (const std::size_t i : {4u, 7u}) {
    CHECK(index(i, 0) == index(0, 0));
    CHECK(index(i, 1) == index(0, 1));
  }
  CHECK(type(5, 1) == ptx::Type::b8);
  CHECK(index(5, 0) == index(0, 0));
  CHECK(type(6, 0) == ptx::Type::b8);
  CHECK(index(8, 0) != index(8, 1));  // of a group too large to list
  CHECK(index(9, 0) == index(8, 0));
}

TEST_CASE("texts that ptxas takes and nvcc seldom writes", "[parser]") {
  const auto module = module_of(head + R"(
.shared .align 4 .b8 s[64];
.entry k(.param .u64 o) {
  .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .v2.f32 %v; .reg .v4 .u32 %u; .reg .f32 %f<2>;
  ld.param.u64 %rd1, [o];
  mov.b32 %r1, (1<<4)|3;
  mov.b32 %r2, ((7*3)+(-8 / 2));
  mov.b32 %r3, (0x80000000U >> (1 + 2 * 2)) & ~(1 << 20);
  st.shared.u32 [s+(4*2)], %r1;
  mov.u32 %r4, s + 12;
  ld.shared.u32 %r5, [%r4 + -2*2];
  mov.u64 %rd2, %rd1 + 8 - 4;
  mov.f32 %v.x, 0f40C00000;
  mov.f32 %v.g, 0f3FC00000;
  div.ftz.rn.f32 %f1, %v.x, %v.y;
  st.global.v2.f32 [%rd1], %v;
  mov.u32 %u.x, %r1; mov.u32 %u.y, %r2; mov.u32 %u.z, %r3; mov.u32 %u.w, %r5;
  st.global.v4.u32 [%rd1 + 4 * 4], %u;
  st.global.f32 [%rd2+4], %f1;
  ret;
})");
  Device device;
  const std::size_t out = device.output("o", 32);
  REQUIRE(faults_of(device.run(module, "k", {1}, {1}, 0, Device::Pointer{out})).empty());
  const auto floats = device.values<float>(out);
  CHECK(floats[0] == 6.0f);
  CHECK(floats[1] == 1.5f);
  CHECK(floats[2] == 4.0f);
  const auto words = device.values<std::uint32_t>(out);
  CHECK(words[4] == 19);
  CHECK(words[5] == 17);
  CHECK(words[6] == 0x4000000);
  CHECK(words[7] == 19);
}

TEST_CASE("modifiers in an order that ptxas takes too are put into the usual one", "[parser]") {
  const std::pair<const char*, const char*> rows[] = {
      {"div.ftz.rn.f32 f, f, f", "div.rn.ftz.f32"},
      {"sqrt.ftz.approx.f32 f, f", "sqrt.approx.ftz.f32"},
      {"fma.rn.ftz.f32 f, f, f, f", "fma.rn.ftz.f32"},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32.satfinite {r, r, r, "
       "r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, r, 0",
       "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.satfinite.s32.s4.s4.s32"},
  };
  for (const auto& [line, text] : rows) {
    INFO(line);
    const auto module =
        module_of(head + ".entry k() { .reg .f32 f; .reg .b32 r; " + line + "; ret; }");
    const ptx::Form& form = module->form(module->entry("k")->instructions[0]);
    CHECK(form.text == text);
    CHECK_FALSE(ptx::make_program(module, "k").is_rejected());
  }
}

TEST_CASE("what is no PTX is refused with its line", "[parser]") {
  struct Bad {
    const char* text;
    const char* says;
  };
  const Bad rows[] = {
      {"", "version"},
      {"hello", "directive"},
      {".version 9.0 .target sm_90 .entry k() { ret }", "operand"},
      {".version 9.0 .target sm_90 .entry k() { ret;", "never closed"},
      {".version 9.0 .target sm_90 .entry k() { bra NOWHERE; }", "NOWHERE"},
      {".version 9.0 .target sm_90 .entry k() { mov.b32 %r1, 1; }", "%r1"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 %r<2>; mov.b32 %r2, 1; }", "%r2"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 %r<2>; mov.b32 %r01, 1; }", "%r01"},
      {".version 9.0 .target sm_90 .entry k() { { .reg .b32 %r<9>; mov.b32 %r1, 1; } mov.b32 %r1, "
       "1; }",
       "%r1"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 %r<2>; .reg .b32 %r<3>; }", "twice"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b33 %r<2>; }", "b33"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 r; .reg .b32 r; }", "twice"},
      {".version 9.0 .target sm_90 .entry k() { L: ret; L: ret; }", "twice"},
      {".version 9.0 .target sm_90 .entry k() { /* never", "comment"},
      {".version 9.0 .target sm_90 .entry k() { { { ret; } }", "never closed"},
      {".version 9.0 .target sm_90 .entry k() { ret; } .entry k() { ret; }", "two bodies"},
      {".version 9.0 .target sm_90 .global .b8 x[2] = {1,2,3};", "too long"},
      {".version 9.0 .target sm_90 .global .align 3 .b8 x;", "power of two"},
      {".version 9.0 .target sm_90 .entry k(.param .u64) { ret; }", "name"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 r; mov.b32 r, 0f12; }", "8 digits"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 r; mov.b32 r, 99999999999999999999999; }",
       "64 bits"},
      {".version 9.0 .target sm_90 .entry k() { .reg .pred p; @p; }", "instruction"},
      {".version 9.0 .target sm_90 .entry k() { @q ret; }", "predicate"},
      {".version 9.0 .target sm_90 .entry k() { .reg .pred p; bra end|p; end: ret; }",
       "stands alone"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 r; mov.b32 r, (1 / 0); }", "zero"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 r; mov.b32 r, (1 + r); }", "number"},
      {".version 9.0 .target sm_90 .entry k() { .reg .b32 r; add.u32 r, r + 4, r; }", "sum"},
      {".version 9.0 .target sm_90 .entry k() { .reg .v2 .b32 r<2>; }", "one by one"},
      {".version 9.0 .target sm_90 .entry k() { .reg .v2 .b32 r; mov.b32 r.z, 1; }", "r.z"},
      {".version 9.0 .target sm_90 \x01", "byte 0x01"},
      {".version 9.0 .address_size 32", "64-bit"},
  };
  for (const Bad& row : rows) {
    INFO(row.text);
    auto parsed = ptx::parse(row.text);
    REQUIRE(parsed.is_rejected());
    cupilot::testing::expect_code(parsed.rejected(), "gate.ptx_syntax");
    CHECK(parsed.rejected().message.find(row.says) != std::string::npos);
    CHECK(parsed.rejected().where.find("ptx line 1") == 0);
  }
  ptx::ParseLimits limits;
  limits.instructions = 3;
  CHECK(ptx::parse(head + ".entry k() { ret; ret; ret; ret; }", limits).is_rejected());
  limits.bytes = 10;
  CHECK(ptx::parse(head, limits).is_rejected());
  std::string deep = head + ".entry k() {";
  for (int i = 0; i < 100; ++i) deep += "{";
  CHECK(ptx::parse(deep).is_rejected());
}

TEST_CASE("modules of tens of megabytes are read, and there is an end to it", "[parser]") {
  const std::string spaces(33u << 20, ' ');
  const std::string text = head + spaces + ".entry k() { ret; }" + spaces;
  const auto parsed = ptx::parse(text);  // nvcc makes 68 MB of one source of TransformerEngine
  REQUIRE(parsed);
  CHECK(parsed->functions.size() == 1);
  CHECK(ptx::parse(text + spaces).is_rejected());
}

TEST_CASE("mutated text never crashes the parser or the interpreter", "[parser][fuzz]") {
  const std::string text = compile_ptx(source);
  std::mt19937_64 generator(2024);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n,;[](){}", at + 1), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::size_t parsed = 0, ran = 0, tried = 0;
  while (std::chrono::steady_clock::now() < until) {
    ++tried;
    std::string mutant;
    std::vector<std::string> copy = words;
    const std::size_t changes = 1 + generator() % 4;
    for (std::size_t c = 0; c < changes; ++c) {
      const std::size_t i = generator() % copy.size(), j = generator() % copy.size();
      switch (generator() % 6) {
        case 0:
          copy[i] = copy[j];
          break;
        case 1:
          copy[i].clear();
          break;
        case 2:
          copy[i] += copy[j];
          break;
        case 3:
          if (!copy[i].empty())
            copy[i][generator() % copy[i].size()] = static_cast<char>(generator() % 256);
          break;
        case 4:
          std::swap(copy[i], copy[j]);
          break;
        default:
          copy.resize(generator() % 50 == 0 ? i + 1 : copy.size());
          break;
      }
    }
    for (const std::string& w : copy) mutant += w;
    auto result = ptx::parse(mutant);
    if (!result) continue;
    ++parsed;
    const auto module = std::make_shared<const ptx::Module>(std::move(*result));
    auto program = ptx::make_program(module, "k");
    if (!program) continue;
    ptx::DeviceMemory memory;
    const auto a = *memory.add("a", 4096, ptx::Access::read_only),
               o = *memory.add("o", 4096, ptx::Access::read_write);
    ptx::Launch launch{.grid = {2}, .block = {64}, .dynamic_shared = 1024, .parameters = {}};
    const ptx::ParameterLayout layout = ptx::parameter_layout(*module->entry("k"));
    launch.parameters.resize(layout.bytes);
    const std::uint64_t addresses[] = {memory.address(a), memory.address(o)};
    for (std::size_t i = 0; i < 2 && i < layout.offsets.size(); ++i) {
      if (layout.offsets[i] + 8 <= layout.bytes)
        std::memcpy(launch.parameters.data() + layout.offsets[i], &addresses[i], 8);
    }
    if (layout.offsets.size() > 2 && layout.offsets[2] + 4 <= layout.bytes) {
      const int n = 100;
      std::memcpy(launch.parameters.data() + layout.offsets[2], &n, 4);
    }
    ptx::ExecuteOptions options;
    options.instruction_budget = 20000;
    auto report = ptx::execute(**program, memory, launch, options);
    ran += report ? 1 : 0;
  }
  CAPTURE(tried, parsed, ran);
  CHECK(parsed > 10);
  CHECK(ran > 5);
}
