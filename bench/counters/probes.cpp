// One instruction of memory or arithmetic, repeated by one warp over a table of address patterns. A
// barrier of the warp keeps the assembler from making one of many.
#include <fmt/format.h>

#include <cstring>

#include "ptx/syntax/parser.hpp"
#include "subject.hpp"

namespace counters {
namespace {

struct Pattern {
  const char* name;
  std::uint32_t mask;
  std::uint32_t (*element)(std::uint32_t lane);
};

std::uint32_t scattered(std::uint32_t lane, std::uint32_t seed) {
  std::uint32_t x = lane * 2654435761u ^ seed * 40503u;
  x ^= x >> 15;
  x *= 2246822519u;
  return (x ^ (x >> 13)) % 512;
}

using u32 = std::uint32_t;
const std::vector<Pattern> patterns = {
    {"in a row", ~0u, [](u32 i) { return i; }},
    {"all one", ~0u, [](u32) { return 0u; }},
    {"two share", ~0u, [](u32 i) { return i / 2; }},
    {"four share", ~0u, [](u32 i) { return i / 4; }},
    {"eight share", ~0u, [](u32 i) { return i / 8; }},
    {"sixteen share", ~0u, [](u32 i) { return i / 16; }},
    {"halves alike", ~0u, [](u32 i) { return i % 16; }},
    {"quarters alike", ~0u, [](u32 i) { return i % 8; }},
    {"four in turn", ~0u, [](u32 i) { return i % 4; }},
    {"by 2", ~0u, [](u32 i) { return 2 * i; }},
    {"by 3", ~0u, [](u32 i) { return 3 * i; }},
    {"by 4", ~0u, [](u32 i) { return 4 * i; }},
    {"by 5", ~0u, [](u32 i) { return 5 * i; }},
    {"by 8", ~0u, [](u32 i) { return 8 * i; }},
    {"by 16", ~0u, [](u32 i) { return 16 * i; }},
    {"by 17", ~0u, [](u32 i) { return 17 * i; }},
    {"by 32", ~0u, [](u32 i) { return 32 * i; }},
    {"by 33", ~0u, [](u32 i) { return 33 * i; }},
    {"shifted by one", ~0u, [](u32 i) { return i + 1; }},
    {"backwards", ~0u, [](u32 i) { return 31 - i; }},
    {"8 by 4 tile", ~0u, [](u32 i) { return i / 4 * 32 + i % 4; }},
    {"4 by 8 tile", ~0u, [](u32 i) { return i / 8 * 32 + i % 8; }},
    {"4 by 8 tile, padded", ~0u, [](u32 i) { return i / 8 * 36 + i % 8; }},
    {"8 by 4 tile, turned", ~0u, [](u32 i) { return i % 8 * 32 + i / 8; }},
    {"8 by 4 turned, padded", ~0u, [](u32 i) { return i % 8 * 33 + i / 8; }},
    {"xor swizzle", ~0u, [](u32 i) { return i % 8 * 8 + (i / 8 ^ i % 8); }},
    {"first half", 0xffffu, [](u32 i) { return i; }},
    {"last half by 2", 0xffff0000u, [](u32 i) { return 2 * i; }},
    {"every other", 0x55555555u, [](u32 i) { return i; }},
    {"one lane", 1u, [](u32) { return 7u; }},
    {"seven lanes by 33", 0x7fu, [](u32 i) { return 33 * i; }},
    {"next but one alike", ~0u, [](u32 i) { return i / 4 * 2 + i % 2; }},
    {"next but one alike by 16", ~0u, [](u32 i) { return (i / 4 * 2 + i % 2) * 16; }},
    {"two share by 16", ~0u, [](u32 i) { return i / 2 * 16; }},
    {"next but three alike", ~0u, [](u32 i) { return i / 8 * 4 + i % 4; }},
    {"two share, one missing", ~(1u << 5), [](u32 i) { return i / 2; }},
    {"scattered a", ~0u, [](u32 i) { return scattered(i, 1); }},
    {"scattered b", ~0u, [](u32 i) { return scattered(i, 2); }},
    {"scattered c", ~0u, [](u32 i) { return scattered(i, 3) % 64; }},
    {"scattered d", 0x5a5a1ff1u, [](u32 i) { return scattered(i, 4) % 128; }},
};

struct Probe {
  const char* name;
  unsigned bytes;      // an address
  const char* line;    // the instruction, on g (global), s (shared), v (four words)
  bool whole = false;  // all lanes must take part
  int side = 0;  // the pattern is of: 0 the only address, 1 the global, 2 the shared one of two
};

const std::vector<Probe> memory_probes = {
    {"ld.global.u8", 1,
     R"(asm volatile("{.reg .u16 t; ld.global.u8 t, [%1]; cvt.u32.u16 %0, t;}" : "=r"(v[0]) : "l"(g));)"},
    {"ld.global.u32", 4, R"(asm volatile("ld.global.u32 %0, [%1];" : "=r"(v[0]) : "l"(g));)"},
    {"ld.global.v2.u32", 8,
     R"(asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(g));)"},
    {"ld.global.v4.u32", 16,
     R"(asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(g));)"},
    {"st.global.u32", 4,
     R"(asm volatile("st.global.u32 [%0], %1;" ::"l"(g), "r"(v[0]) : "memory");)"},
    {"st.global.v2.u32", 8,
     R"(asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(g), "r"(v[0]), "r"(v[1]) : "memory");)"},
    {"st.global.v4.u32", 16,
     R"(asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(g), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");)"},
    {"red.global.add.u32", 4,
     R"(asm volatile("red.global.add.u32 [%0], %1;" ::"l"(g), "r"(v[0]) : "memory");)"},
    {"red.global.add.f32", 4,
     R"(asm volatile("red.global.add.f32 [%0], %1;" ::"l"(g), "f"(1.0f) : "memory");)"},
    {"red.global.add.u64", 8,
     R"(asm volatile("red.global.add.u64 [%0], %1;" ::"l"(g), "l"(1ull) : "memory");)"},
    {"atom.global.add.u32", 4,
     R"(asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(v[0]) : "l"(g), "r"(1) : "memory");)"},
    {"atom.global.cas.b32", 4,
     R"(asm volatile("atom.global.cas.b32 %0, [%1], %2, 5;" : "=r"(v[0]) : "l"(g), "r"(1) : "memory");)"},
    {"ld.shared.u8", 1,
     R"(asm volatile("{.reg .u16 t; ld.shared.u8 t, [%1]; cvt.u32.u16 %0, t;}" : "=r"(v[0]) : "r"(s));)"},
    {"ld.shared.u16", 2,
     R"(asm volatile("{.reg .u16 t; ld.shared.u16 t, [%1]; cvt.u32.u16 %0, t;}" : "=r"(v[0]) : "r"(s));)"},
    {"ld.shared.u32", 4, R"(asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(s));)"},
    {"ld.shared.v2.u32", 8,
     R"(asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(s));)"},
    {"ld.shared.v4.u32", 16,
     R"(asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(s));)"},
    {"st.shared.u8", 1,
     R"(asm volatile("{.reg .u16 t; cvt.u16.u32 t, %1; st.shared.u8 [%0], t;}" ::"r"(s), "r"(v[0]) : "memory");)"},
    {"st.shared.u16", 2,
     R"(asm volatile("{.reg .u16 t; cvt.u16.u32 t, %1; st.shared.u16 [%0], t;}" ::"r"(s), "r"(v[0]) : "memory");)"},
    {"st.shared.u32", 4,
     R"(asm volatile("st.shared.u32 [%0], %1;" ::"r"(s), "r"(v[0]) : "memory");)"},
    {"st.shared.v2.u32", 8,
     R"(asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(s), "r"(v[0]), "r"(v[1]) : "memory");)"},
    {"st.shared.v4.u32", 16,
     R"(asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(s), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");)"},
    {"atom.shared.add.u32", 4,
     R"(asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(v[0]) : "r"(s), "r"(1) : "memory");)"},
    {"red.shared.add.u32", 4,
     R"(asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(s), "r"(2) : "memory");)"},
    {"ldmatrix.x1", 16,
     R"(asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v[0]) : "r"(s));)",
     true},
    {"ldmatrix.x2", 16,
     R"(asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(s));)",
     true},
    {"ldmatrix.x4", 16,
     R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(s));)",
     true},
    {"ldmatrix.x4.trans", 16,
     R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(s));)",
     true},
    {"stmatrix.x4", 16,
     R"(asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(s), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");)",
     true},
    {"cp.async.ca 4, global", 4,
     R"(asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(s), "l"(g) : "memory");)",
     false, 1},
    {"cp.async.ca 8, global", 8,
     R"(asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(s), "l"(g) : "memory");)",
     false, 1},
    {"cp.async.ca 16, global", 16,
     R"(asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(s), "l"(g) : "memory");)",
     false, 1},
    {"cp.async.cg 16, global", 16,
     R"(asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(g) : "memory");)",
     false, 1},
    {"cp.async.ca 4, shared", 4,
     R"(asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(s), "l"(g) : "memory");)",
     false, 2},
    {"cp.async.ca 8, shared", 8,
     R"(asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(s), "l"(g) : "memory");)",
     false, 2},
    {"cp.async.ca 16, shared", 16,
     R"(asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(s), "l"(g) : "memory");)",
     false, 2},
    {"cp.async.cg 16, shared", 16,
     R"(asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(g) : "memory");)",
     false, 2},
};

constexpr const char* memory_text = R"(
extern "C" __global__ void probe(char* data, const unsigned* offsets, const unsigned* others, unsigned mask, unsigned* sink) {{
  extern __shared__ char block[];
  const unsigned lane = threadIdx.x;
  char* g = data + {0}[lane];
  unsigned s = (unsigned)__cvta_generic_to_shared(block) + {1}[lane];
  unsigned v[4] = {{lane, 1, 2, 3}}, sum = 0;
  if ((mask >> lane) & 1) {{
#pragma unroll 1
    for (int i = 0; i < 32; ++i) {{
      {2}
      asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
      asm volatile("cp.async.wait_all;" ::: "memory");
      sum += v[0] + v[1] + v[2] + v[3];
    }}
  }}
  sink[lane] = sum;
}}
)";

struct Arithmetic {
  const char* name;
  char type;         // f: float, d: double, r: 32-bit
  const char* line;  // %0 result and factor, %1 and %2 factors
};

// Data, one table of offsets a pattern, a table in a row, room for results.
struct ProbeMemory {
  ptx::DeviceMemory memory;
  std::uint64_t data = 0, offsets = 0, others = 0, sink = 0;
};

std::shared_ptr<ProbeMemory> make_memory(unsigned bytes, char type, std::size_t rows) {
  auto made = std::make_shared<ProbeMemory>();
  const auto add = [&](const char* name, std::uint64_t size) {
    return *made->memory.add(name, size, ptx::Access::read_write);
  };
  const std::size_t data = add("data", 1u << 17), offsets = add("offsets", rows * 128),
                    others = add("others", 128), sink = add("sink", 1024);
  auto* table = reinterpret_cast<u32*>(made->memory.data(offsets).data());
  for (std::size_t p = 0; p < rows; ++p) {
    for (u32 lane = 0; lane < 32; ++lane) table[p * 32 + lane] = patterns[p].element(lane) * bytes;
  }
  auto* row = reinterpret_cast<u32*>(made->memory.data(others).data());
  for (u32 lane = 0; lane < 32; ++lane) row[lane] = lane * bytes;
  for (u32 i = 0; i < 64; ++i) {
    std::uint8_t* at = made->memory.data(data).data();
    const double d = 1.25 + i / 64.0;
    const auto f = static_cast<float>(d);
    const u32 halves = 0x3c013c00u + i, whole = i < 32 ? 1000003u * (i + 7) : 17 + i;
    if (type == 'd') std::memcpy(at + 8 * i, &d, 8);
    if (type == 'f') std::memcpy(at + 4 * i, &f, 4);
    if (type == 'r') std::memcpy(at + 4 * i, rows == 2 ? &halves : &whole, 4);
  }
  for (const std::size_t b : {data, offsets, others, sink}) made->memory.mark_written(b);
  made->data = made->memory.address(data);
  made->offsets = made->memory.address(offsets);
  made->others = made->memory.address(others);
  made->sink = made->memory.address(sink);
  return made;
}

Result<BenchSubject> compiled(CompilePool& pool, const std::string& name, const std::string& text) {
  CompileRequest request;
  request.text = text;
  request.arch = "sm_90a";
  Attempt<CompileOutput> output = pool.compile(request);
  if (output.is_error()) return output.error();
  if (output.is_rejected())
    return Error{ErrorCode::usage, name + ": " + output.rejected().message, ""};
  BenchSubject subject;
  subject.name = name;
  subject.ptx = output->ptx;
  subject.cubin = output->cubin;
  subject.probe = true;
  Attempt<ptx::Module> module = ptx::parse(subject.ptx);
  if (!module) return Error{ErrorCode::failure, name + ": the compiler's PTX cannot be read", ""};
  subject.module = std::make_shared<const ptx::Module>(std::move(*module));
  return subject;
}

void put(std::vector<std::uint8_t>& block, std::uint32_t at, const void* from, std::size_t bytes) {
  if (block.size() < at + bytes) block.resize(at + bytes);
  std::memcpy(block.data() + at, from, bytes);
}

Order order_of(const BenchSubject& subject, const ProbeMemory& memory, const std::string& label,
               std::size_t pattern, unsigned threads) {
  const ptx::ParameterLayout layout = ptx::parameter_layout(*subject.module->entry("probe"));
  Order order{label, "probe", {}};
  order.launch.grid = {1, 1, 1};
  order.launch.block = {threads, 1, 1};
  order.launch.dynamic_shared = 49152;
  const std::uint64_t offsets = memory.offsets + 128 * pattern;
  const u32 mask = patterns[pattern].mask;
  order.launch.parameters.resize(layout.bytes);
  put(order.launch.parameters, layout.offsets[0], &memory.data, 8);
  put(order.launch.parameters, layout.offsets[1], &offsets, 8);
  put(order.launch.parameters, layout.offsets[2], &memory.others, 8);
  put(order.launch.parameters, layout.offsets[3], &mask, 4);
  put(order.launch.parameters, layout.offsets[4], &memory.sink, 8);
  return order;
}

Result<BenchSubject> memory_probe(CompilePool& pool, const Probe& probe) {
  const std::string text = fmt::format(memory_text, probe.side == 2 ? "others" : "offsets",
                                       probe.side == 1 ? "others" : "offsets", probe.line);
  Result<BenchSubject> subject = compiled(pool, probe.name, text);
  if (!subject) return subject;
  const auto memory = make_memory(probe.bytes, 'n', patterns.size());
  subject->owner = memory;
  subject->memory = &memory->memory;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (probe.whole && patterns[p].mask != ~0u) continue;
    subject->orders.push_back(order_of(*subject, *memory, patterns[p].name, p, 32));
  }
  return subject;
}

// Operations in a chain, which no assembler shortens: %0 is result and factor.
const std::vector<Arithmetic> chains = {
    {"chain of add.f64", 'd', "add.rn.f64 %0, %0, %1;"},
    {"chain of mul.f64", 'd', "mul.rn.f64 %0, %0, %1;"},
    {"chain of fma.f64", 'd', "fma.rn.f64 %0, %0, %1, %2;"},
    {"chain of fma.f32", 'f', "fma.rn.f32 %0, %0, %1, %2;"},
    {"chain of div.f32", 'f', "div.rn.f32 %0, %0, %1;"},
    {"chain of sqrt.f32", 'f', "sqrt.rn.f32 %0, %0;"},
    {"chain of rcp.f32", 'f', "rcp.rn.f32 %0, %0;"},
    {"chain of div.f64", 'd', "div.rn.f64 %0, %0, %1;"},
    {"chain of sqrt.f64", 'd', "sqrt.rn.f64 %0, %0;"},
    {"chain of rcp.f64", 'd', "rcp.rn.f64 %0, %0;"},
    {"chain of rcp.approx.f32", 'f', "rcp.approx.f32 %0, %0;"},
    {"chain of sin.approx.f32", 'f', "sin.approx.f32 %0, %0;"},
    {"chain of ex2.approx.f32", 'f', "ex2.approx.f32 %0, %0;"},
    {"chain of add.f16x2", 'r', "add.f16x2 %0, %0, %1;"},
    {"chain of fma.f16x2", 'r', "fma.rn.f16x2 %0, %0, %1, %2;"},
    {"chain of fma.bf16x2", 'r', "fma.rn.bf16x2 %0, %0, %1, %2;"},
    {"chain of mul.bf16x2", 'r', "mul.rn.bf16x2 %0, %0, %1;"},
};

// mma.sync of every type of factors, its sums in a chain.
struct Square {
  const char *name, *form, *sums, *factors;  // registers by their constraint, one letter each
};
const std::vector<Square> squares = {
    {"mma bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", "ffff", "rrrr rr"},
    {"mma fp16 into fp32", "m16n8k16.row.col.f32.f16.f16.f32", "ffff", "rrrr rr"},
    {"mma fp16 into fp16", "m16n8k16.row.col.f16.f16.f16.f16", "rr", "rrrr rr"},
    {"mma tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", "ffff", "rrrr rr"},
    {"mma fp8", "m16n8k32.row.col.f32.e4m3.e4m3.f32", "ffff", "rrrr rr"},
    {"mma int8", "m16n8k32.row.col.s32.s8.s8.s32", "rrrr", "rrrr rr"},
    {"mma fp64", "m8n8k4.row.col.f64.f64.f64.f64", "dd", "d d"},
};

// wgmma of bf16 by K-major tiles: how its reads of shared memory count.
struct Product {
  unsigned n, swizzle;
  bool a_in_registers;
};

std::string product_text(const Product& p) {
  const unsigned registers = p.n / 2, mode = p.swizzle == 128  ? 1
                                             : p.swizzle == 64 ? 2
                                             : p.swizzle == 32 ? 3
                                                               : 0;
  const unsigned lead = p.swizzle == 0 ? 128 : 16, step = p.swizzle == 0 ? 256 : 8 * p.swizzle;
  std::string list, uses;
  for (unsigned i = 0; i < registers; ++i) {
    list += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    uses += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ", ", i);
  }
  const std::string a = p.a_in_registers ? fmt::format("{{%{}, %{}, %{}, %{}}}", registers,
                                                       registers + 1, registers + 2, registers + 3)
                                         : fmt::format("%{}", registers);
  const std::string b = fmt::format("%{}", registers + (p.a_in_registers ? 4 : 1));
  const std::string sources =
      p.a_in_registers ? "\"r\"(1), \"r\"(2), \"r\"(3), \"r\"(4), \"l\"(b)" : "\"l\"(a), \"l\"(b)";
  return fmt::format(R"(
extern "C" __global__ void probe(char* data, const unsigned* offsets, const unsigned* others, unsigned mask, unsigned* sink) {{
  extern __shared__ __align__(1024) char block[];
  const unsigned at = ((unsigned)__cvta_generic_to_shared(block) + 1023) / 1024 * 1024;
  const unsigned long long kind = (unsigned long long){0} << 62 | (unsigned long long)({1} / 16) << 32 | (unsigned long long)({2} / 16) << 16;
  const unsigned long long a = kind | (at & 0x3ffff) >> 4, b = kind | ((at + 8192) & 0x3ffff) >> 4;
  float d[{3}];
#pragma unroll
  for (int i = 0; i < {3}; ++i) d[i] = 0;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
  for (unsigned i = 0; i < 8; ++i)
    asm volatile("wgmma.mma_async.sync.aligned.m64n{4}k16.f32.bf16.bf16 {{{5}}}, {6}, {7}, 1, 1, 1{8};" : {9} : {10});
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  float sum = 0;
#pragma unroll
  for (int i = 0; i < {3}; ++i) sum += d[i];
  sink[threadIdx.x] = __float_as_uint(sum);
}}
)",
                     mode, step, lead, registers, p.n, list, a, b,
                     p.a_in_registers ? ", 0" : ", 0, 0", uses, sources);
}

Result<BenchSubject> product_probe(CompilePool& pool, const Product& p) {
  const std::string name = fmt::format("wgmma m64n{}k16 swizzle {} A in {}", p.n, p.swizzle,
                                       p.a_in_registers ? "registers" : "shared");
  Result<BenchSubject> subject = compiled(pool, name, product_text(p));
  if (!subject) return subject;
  const auto memory = make_memory(4, 'n', 1);
  subject->owner = memory;
  subject->memory = &memory->memory;
  subject->orders.push_back(order_of(*subject, *memory, "", 0, 128));
  return subject;
}

constexpr const char* chain_text = R"(
extern "C" __global__ void probe(char* data, const unsigned* offsets, const unsigned* others, unsigned mask, unsigned* sink) {{
  const {0} a = (({0}*)data)[threadIdx.x], b = (({0}*)data)[threadIdx.x + 32];
  {0} v = a;
#pragma unroll 1
  for (unsigned i = 0; i < 64; ++i) asm volatile("{1}" : "+{2}"(v) : "{2}"(a), "{2}"(b));
  *({0}*)(sink + 2 * threadIdx.x) = v;
}}
)";

Result<BenchSubject> single(CompilePool& pool, const std::string& name, const std::string& text,
                            char type) {
  Result<BenchSubject> subject = compiled(pool, name, text);
  if (!subject) return subject;
  const auto memory = make_memory(4, type, type == 'r' ? 2 : 1);
  subject->owner = memory;
  subject->memory = &memory->memory;
  subject->orders.push_back(order_of(*subject, *memory, "", 0, 32));
  return subject;
}

Result<BenchSubject> chain_probe(CompilePool& pool, const Arithmetic& op) {
  const char* type = op.type == 'f' ? "float" : op.type == 'd' ? "double" : "unsigned";
  return single(pool, op.name, fmt::format(chain_text, type, op.line, op.type), op.type);
}

// "{%0, %1}" of registers from `first` on, and their operands for inline assembly.
std::string registers(const std::string& kinds, const std::string& array, unsigned& first,
                      bool sums, std::string& operands) {
  std::string list;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    list += fmt::format("{}%{}", i == 0 ? "" : ", ", first++);
    operands += fmt::format("{}\"{}{}\"({}[{}])", operands.empty() ? "" : ", ", sums ? "+" : "",
                            kinds[i], array, i);
  }
  return "{" + list + "}";
}

Result<BenchSubject> square_probe(CompilePool& pool, const Square& op) {
  const auto type = [](char kind) {
    return kind == 'f' ? "float" : kind == 'd' ? "double" : "unsigned";
  };
  const std::string factors = op.factors, a = factors.substr(0, factors.find(' ')),
                    b = factors.substr(factors.find(' ') + 1);
  unsigned next = 0;
  std::string out, in;
  const std::string d = registers(op.sums, "d", next, true, out),
                    left = registers(a, "a", next, false, in),
                    right = registers(b, "b", next, false, in);
  const std::string text =
      fmt::format(R"(
extern "C" __global__ void probe(char* data, const unsigned* offsets, const unsigned* others, unsigned mask, unsigned* sink) {{
  {0} d[4] = {{}};
  {1} a[4] = {{}}, b[2] = {{}};
  a[0] = (({1}*)data)[threadIdx.x];
#pragma unroll 1
  for (unsigned i = 0; i < 64; ++i)
    asm volatile("mma.sync.aligned.{2} {3}, {4}, {5}, {3};" : {6} : {7});
  *({0}*)(sink + 2 * threadIdx.x) = d[0] + d[1];
}}
)",
                  type(op.sums[0]), type(factors[0]), op.form, d, left, right, out, in);
  return single(pool, op.name, text, factors[0] == 'd' ? 'd' : 'r');
}

const std::vector<Product> products = {{8, 128, false},   {16, 128, false},  {64, 128, false},
                                       {128, 128, false}, {256, 128, false}, {64, 64, false},
                                       {64, 32, false},   {64, 0, false},    {256, 0, false},
                                       {256, 64, false},  {256, 32, false},  {24, 128, false}};

}  // namespace

std::vector<std::function<Result<BenchSubject>()>> probes(CompilePool& pool) {
  std::vector<std::function<Result<BenchSubject>()>> all;
  for (const Probe& probe : memory_probes)
    all.push_back([&pool, &probe] { return memory_probe(pool, probe); });
  return all;
}

std::vector<std::function<Result<BenchSubject>()>> product_probes(CompilePool& pool) {
  std::vector<std::function<Result<BenchSubject>()>> all;
  for (const Arithmetic& op : chains) all.push_back([&pool, &op] { return chain_probe(pool, op); });
  for (const Square& op : squares) all.push_back([&pool, &op] { return square_probe(pool, op); });
  for (const Product& p : products) all.push_back([&pool, &p] { return product_probe(pool, p); });
  return all;
}

}  // namespace counters
