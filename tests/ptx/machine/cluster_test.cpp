// Clusters: ranks, shared memory of other blocks, barriers, multicast, remote arrivals, and the
// faults of leaving one out.
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string text = async_text + R"(
#ifdef RELAXED
#define FIRST_SYNC asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); cluster_wait()
#endif
#ifndef FIRST_SYNC
#define FIRST_SYNC cluster_sync()
#endif
#ifndef LAST_SYNC
#define LAST_SYNC cluster_sync()
#endif
#ifndef READS_FROM
#define READS_FROM 0
#endif
#ifndef WRITES_FROM
#define WRITES_FROM 0
#endif
D u32 remote(u32 a) { u32 v; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); return v; }
K ranks(u32* o) {
  u32 v[12];
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[0])); asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[1]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[2])); asm("mov.u32 %0, %%nclusterid.y;" : "=r"(v[3]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[4])); asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[5]));
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[6])); asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[7]));
  v[8] = cluster_rank(); v[9] = cluster_size();
  __shared__ u32 s; u32 back; asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(back) : "r"(mapa(&s, v[9] - 1))); v[10] = back;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(back) : "r"(sm(&s))); v[11] = back;
  u32 b = blockIdx.y * gridDim.x + blockIdx.x;
  for (int i = 0; i < 12; ++i) o[b * 12 + i] = v[i];
}
// Each block hands its numbers to the next by loads, adds to the first's counter, and stores into the one before.
K exchange(u32* o) {
  __shared__ u32 s[64], in[64], count; int t = threadIdx.x; u32 r = cluster_rank(), n = cluster_size();
  s[t] = r * 1000 + t; if (t == 0) count = 0;
  FIRST_SYNC;
  u32 v = remote(mapa(s + t, (r + 1) % n) + READS_FROM);
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapa(in + t, (r + n - 1) % n) + WRITES_FROM), "r"(v + 5) : "memory");
  u64 generic; asm("mapa.u64 %0, %1, %2;" : "=l"(generic) : "l"(&count), "r"(0));
  atomicAdd((u32*)generic, 1u);
  LAST_SYNC;
  o[r * 64 + t] = in[t]; if (r == 0 && t == 0) o[n * 64] = count;
}
// Every block loads its share of a tile and multicasts it to all; consumers release every block's barrier.
K multicast(const __grid_constant__ Map m, u32* o, int laps) {
  extern __shared__ __align__(1024) u32 s[]; __shared__ u64 full, empty; int t = threadIdx.x; u32 r = cluster_rank(), n = cluster_size();
  if (t == 0) { init(&full, 1); init(&empty, 32 * n); INIT_FENCE; }
  FIRST_SYNC;
  if (t == 32) {
    for (int i = 0; i < laps; ++i) { EMPTY_WAIT; expect(&full, 128 * n); tile2_multicast(s + 32 * r, &m, 0, i * n + r, &full, (u16)((1u << n) - 1)); }
    TAIL;
  } else if (t < 32) {
    for (int i = 0; i < laps; ++i) {
      wait(&full, i & 1);
      u32 sum = 0; for (int j = 0; j < n; ++j) sum += s[32 * j + t] * (j + 1);
      DRAIN; RELEASE;
      o[(r * laps + i) * 32 + t] = sum;
    }
  }
  LAST_SYNC;
}
// A store and an addition into the next block, each told to its mbarrier.
K sends(u32* o) {
  __shared__ __align__(16) u32 s[4], sum; __shared__ u64 b; int t = threadIdx.x; u32 r = cluster_rank(), n = cluster_size(), next = (r + 1) % n;
  if (t == 0) { init(&b, 1); sum = 7; expect(&b, 16 + 4 * 32); }
  cluster_sync();
  if (t == 0) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(mapa(s, next)), "r"(r), "r"(r + 1), "r"(r + 2), "r"(r + 3), "r"(mapa(&b, next)) : "memory");
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(mapa(&sum, next)), "r"(t), "r"(mapa(&b, next)) : "memory");
  SENT_WAIT;
  if (t < 4) o[r * 5 + t] = s[t]; if (t == 4) o[r * 5 + 4] = sum;
  cluster_sync();
}
K bulk(u32* o) {
  __shared__ __align__(16) u32 s[32], in[32]; __shared__ u64 b; int t = threadIdx.x; u32 r = cluster_rank(), n = cluster_size(), next = (r + 1) % n;
  s[t] = 100 * r + t; if (t == 0) { init(&b, 1); expect(&b, 128); }
  FENCE_PROXY; cluster_sync();
  if (t == 0) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(mapa(in, next) + WRITES_FROM), "r"(sm(s) + READS_FROM), "r"(mapa(&b, next)) : "memory");
  wait(&b, 0);
  o[r * 32 + t] = in[t];
  cluster_sync();
}
// Each block hands its numbers to the next, whose memory holds nothing before.
K pushes(u32* o) {
  __shared__ u32 in[32]; int t = threadIdx.x; u32 r = cluster_rank(), n = cluster_size();
  FIRST_SYNC;
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapa(in + t, (r + 1) % n)), "r"(r * 100 + t) : "memory");
  cluster_sync();
  o[r * 32 + t] = in[t];
}
K half_barrier(u32* o) { if (cluster_rank() == 0) cluster_sync(); o[threadIdx.x] = 1; cluster_wait(); }
K registers(u32* o) {
  int t = threadIdx.x;
  if (t < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); else asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  o[t] = t;
}
)";

std::string with(const std::string& defines) {
  std::string out;
  const auto add = [&](const char* name, const char* value) {
    if (defines.find(std::string("#define ") + name) == std::string::npos)
      out += std::string("#define ") + name + " " + value + "\n";
  };
  add("EMPTY_WAIT", "wait(&empty, (i & 1) ^ 1)");
  add("INIT_FENCE", "asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\")");
  add("TAIL", "");
  add("RELEASE", "for (int j = 0; j < n; ++j) mapped_arrive(&empty, j)");
  add("SENT_WAIT", "wait(&b, 0)");
  return defines + "\n" + out + text;
}

struct Mode {
  std::uint64_t seed;
  bool late;
};
constexpr Mode modes[] = {{0, false}, {0, true}, {1, true}, {5, false}, {9, true}};

void prepare(Device& d, const Mode& mode, std::uint32_t size) {
  d.options.seed = mode.seed;
  d.options.late = mode.late;
  d.options.instruction_budget = 2'000'000;
  d.cluster = {size, 1, 1};
}

ptx::Report multicast(Device& d, const std::string& defines, std::uint32_t size,
                      std::vector<std::uint32_t>& got) {
  std::vector<std::uint32_t> a(32 * 5 * size);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint32_t>(i * 17 + 3);
  const auto ia = d.input("a", a), io = d.output("o", 4 * size * 5 * 32);
  ptx::TensorMap map;
  map.address = d.memory.address(ia);
  map.type = ptx::Type::s32;
  map.rank = 2;
  map.dims = {32, 5 * size, 1, 1, 1};
  map.pitch = {128};
  map.box = {32, 1, 1, 1, 1};
  auto report =
      d.run(module_of_cuda(with(defines)), "multicast", {size}, {64}, 1024, map, P{io}, 5);
  got = d.values<std::uint32_t>(io);
  return report;
}

}  // namespace

TEST_CASE("blocks know their place in the cluster", "[cluster]") {
  Device d;
  d.cluster = {2, 3, 1};
  const auto io = d.output("o", 4 * 12 * 4 * 6);
  REQUIRE(faults_of(d.run(module_of_cuda(with("")), "ranks", {4, 6}, {1}, 0, P{io})) == "");
  const auto o = d.values<std::uint32_t>(io);
  for (std::uint32_t y = 0; y < 6; ++y) {
    for (std::uint32_t x = 0; x < 4; ++x) {
      const std::uint32_t rank = x % 2 + y % 3 * 2;
      const std::uint32_t want[] = {x / 2, y / 3, 2, 2, x % 2, y % 3, 2, 3, rank, 6, 5, rank};
      for (std::size_t i = 0; i < 12; ++i) CHECK(o[(y * 4 + x) * 12 + i] == want[i]);
    }
  }
}

TEST_CASE("blocks of a cluster reach each other's shared memory", "[cluster]") {
  for (const Mode& mode : modes) {
    Device d;
    prepare(d, mode, 4);
    const auto io = d.output("o", 4 * (4 * 64 + 1));
    REQUIRE(faults_of(d.run(module_of_cuda(with("")), "exchange", {4}, {64}, 0, P{io})) == "");
    const auto o = d.values<std::uint32_t>(io);
    for (std::uint32_t r = 0; r < 4; ++r) {
      for (std::uint32_t t = 0; t < 64; ++t) CHECK(o[r * 64 + t] == (r + 2) % 4 * 1000 + t + 5);
    }
    CHECK(o[256] == 256);
  }
}

TEST_CASE("a relaxed arrival tells that blocks have begun", "[cluster]") {
  for (const Mode& mode : modes) {
    Device d;
    prepare(d, mode, 4);
    const auto io = d.output("o", 4 * 4 * 32);
    REQUIRE(faults_of(d.run(module_of_cuda(with("#define RELAXED")), "pushes", {4}, {32}, 0,
                            P{io})) == "");
    const auto o = d.values<std::uint32_t>(io);
    for (std::uint32_t i = 0; i < 128; ++i) CHECK(o[i] == (i / 32 + 3) % 4 * 100 + i % 32);
  }
}

TEST_CASE("multicast tiles, stores and reductions tell the barriers of other blocks", "[cluster]") {
  for (const Mode& mode : modes) {
    Device d;
    prepare(d, mode, 4);
    std::vector<std::uint32_t> got;
    REQUIRE(faults_of(multicast(d, "", 4, got)) == "");
    for (std::uint32_t r = 0; r < 4; ++r) {
      for (std::uint32_t lap = 0; lap < 5; ++lap) {
        for (std::uint32_t t = 0; t < 32; ++t) {
          std::uint32_t want = 0;
          for (std::uint32_t j = 0; j < 4; ++j)
            want += ((lap * 4 + j) * 32 + t) * 17 * (j + 1) + 3 * (j + 1);
          REQUIRE(got[(r * 5 + lap) * 32 + t] == want);
        }
      }
    }
    const auto is = d.output("s", 4 * 5 * 4), ib = d.output("b", 4 * 32 * 4);
    REQUIRE(faults_of(d.run(module_of_cuda(with("")), "sends", {4}, {32}, 0, P{is})) == "");
    REQUIRE(faults_of(d.run(module_of_cuda(with("")), "bulk", {4}, {32}, 0, P{ib})) == "");
    for (std::uint32_t r = 0; r < 4; ++r) {
      const std::uint32_t from = (r + 3) % 4;
      for (std::uint32_t t = 0; t < 4; ++t)
        CHECK(d.values<std::uint32_t>(is)[r * 5 + t] == from + t);
      CHECK(d.values<std::uint32_t>(is)[r * 5 + 4] == 7 + 31 * 16);
      for (std::uint32_t t = 0; t < 32; ++t)
        CHECK(d.values<std::uint32_t>(ib)[r * 32 + t] == 100 * from + t);
    }
  }
}

TEST_CASE("a fenced mbarrier is told by a relaxed arrival", "[cluster]") {
  for (const Mode& mode : modes) {
    Device d;
    prepare(d, mode, 4);
    std::vector<std::uint32_t> got;
    CHECK(faults_of(multicast(d, "#define RELAXED", 4, got)) == "");
  }
}

TEST_CASE("a block may end once it has seen every release and copy of the others", "[cluster]") {
  for (const Mode& mode : modes) {
    Device d;
    prepare(d, mode, 4);
    std::vector<std::uint32_t> got;
    CHECK(faults_of(multicast(d, "#define LAST_SYNC\n#define TAIL wait(&empty, ~laps & 1)", 4,
                              got)) == "");
    CHECK(faults_of(multicast(d, "#define LAST_SYNC\n#define TAIL wait(&empty, laps & 1)", 4,
                              got)) != "");
  }
}

TEST_CASE("what a cluster needs shows when it is removed", "[cluster]") {
  struct Mutant {
    const char* entry;
    const char* defines;
    const char* code;
    const char* says;
  };
  const Mutant mutants[] = {
      {"exchange", "#define FIRST_SYNC __syncthreads()", "run.race", "may not have begun"},
      {"pushes", "#define FIRST_SYNC __syncthreads()", "run.race", "may not have begun"},
      {"exchange", "#define RELAXED", "run.", ""},
      {"multicast", "#define RELAXED\n#define INIT_FENCE", "run.race", "after its initialisation"},
      {"exchange", "#define LAST_SYNC __syncthreads()", "run.", ""},
      {"multicast", "#define FIRST_SYNC __syncthreads()", "run.", "bar"},
      {"multicast", "#define LAST_SYNC", "run.race", "of the cluster"},
      {"multicast", "#define EMPTY_WAIT", "run.", ""},
      {"multicast", "#define RELEASE", "run.hang", "arrivals"},
      {"multicast", "#define RELEASE mapped_arrive(&empty, r)", "run.hang", "arrivals"},
      {"multicast", "#define DRAIN", "run.race", "may be on their way"},
      {"sends", "#define SENT_WAIT", "run.", ""},
      {"bulk", "#define FENCE_PROXY", "run.race", "without fence.proxy.async"},
      {"half_barrier", "", "run.divergence", "cluster's barrier"},
      {"exchange", "#define READS_FROM 16", "run.out_of_bounds",
       "s+256 (shared offset 256), where no shared variable lies"},
      {"exchange", "#define WRITES_FROM 16", "run.out_of_bounds",
       "in+256 (shared offset 512), where no shared variable lies"},
      {"bulk", "#define READS_FROM 16", "run.out_of_bounds",
       "s+128 (shared offset 128), where no shared variable lies"},
      {"bulk", "#define WRITES_FROM 16", "run.out_of_bounds",
       "in+128 (shared offset 256), where no shared variable lies"},
  };
  for (const Mutant& mutant : mutants) {
    for (const Mode& mode : modes) {
      INFO(mutant.entry << " " << mutant.defines << " seed " << mode.seed
                        << (mode.late ? " late" : " eager"));
      Device d;
      prepare(d, mode, 4);
      ptx::Report report;
      std::vector<std::uint32_t> unused;
      if (std::string(mutant.entry) == "multicast") {
        report = multicast(d, mutant.defines, 4, unused);
      } else {
        const auto io = d.output("o", 4 * (4 * 64 + 1));
        report = d.run(module_of_cuda(with(mutant.defines)), mutant.entry, {4},
                       {std::string(mutant.entry) == "exchange" ? 64u : 32u}, 0, P{io});
      }
      REQUIRE(report.faults.size() >= 1);
      INFO(faults_of(report));
      CHECK(report.faults[0].code.rfind(mutant.code, 0) == 0);
      CHECK(report.faults[0].message.find(mutant.says) != std::string::npos);
    }
  }
}

TEST_CASE("setmaxnreg moves registers between warps, and waits for what nobody gives",
          "[cluster]") {
  Device d;
  const auto io = d.output("o", 4 * 256);
  d.registers = 136;
  CHECK(faults_of(d.run(module_of_cuda(with("")), "registers", {1}, {256}, 0, P{io})) == "");
  d.registers = 128;
  const auto report = d.run(module_of_cuda(with("")), "registers", {1}, {256}, 0, P{io});
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].message.find("setmaxnreg") != std::string::npos);
}

TEST_CASE("launches with clusters or cooperation that cannot be are refused", "[cluster]") {
  const auto module = module_of_cuda(with(""));
  auto program = ptx::make_program(module, "ranks");
  REQUIRE(program);
  ptx::DeviceMemory memory;
  const auto refused = [&](ptx::Dim3 grid, ptx::Dim3 cluster, bool cooperative) {
    ptx::Launch launch{.grid = grid,
                       .block = {1},
                       .dynamic_shared = 0,
                       .parameters = std::vector<std::uint8_t>(8)};
    launch.cluster = cluster;
    launch.cooperative = cooperative;
    ptx::ExecuteOptions options;
    options.resident = 4;
    auto report = ptx::execute(**program, memory, launch, options);
    return report.is_rejected() && report.rejected().code == "run.launch";
  };
  CHECK(refused({4}, {3, 1, 1}, false));
  CHECK(refused({32}, {32, 1, 1}, false));
  CHECK(refused({4}, {0, 1, 1}, false));
  CHECK(refused({8}, {2, 1, 1}, true));
  CHECK_FALSE(refused({4}, {2, 1, 1}, true));
}
