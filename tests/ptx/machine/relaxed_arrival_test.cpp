// Relaxed arrivals at barriers of a cluster and at mbarriers: they release nothing, and a race that
// a release would have ordered names them.
#include "catch.hpp"
#include "ptx/machine/async_text.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using P = Device::Pointer;

namespace {

const std::string text = async_text + R"(
#define FIRST cluster_sync()
#define RELAXED asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define SYNC(arrival) arrival; cluster_wait()
D void arrive_relaxed(u64* b) { asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(sm(b)) : "memory"); }
D u32 far(const u32* p, u32 rank) { u32 v; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(mapa(p, rank)) : "memory"); return v; }
D void far_store(u32* p, u32 rank, u32 v) { asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapa(p, rank)), "r"(v) : "memory"); }
#define READS(arrival) __shared__ u32 mine; u32 r = cluster_rank(); if (threadIdx.x == 40) mine = r; __syncthreads(); \
  SYNC(arrival); if (threadIdx.x == 0) o[r] = far(&mine, r ^ 1); cluster_sync();
K reads(u32* o) { READS(cluster_arrive()) }
K reads_relaxed(u32* o) { READS(RELAXED) }
#define PUSHES(arrival) __shared__ u32 in; u32 r = cluster_rank(); FIRST; \
  if (threadIdx.x == 0) far_store(&in, r ^ 1, r); SYNC(arrival); if (threadIdx.x == 0) o[r] = in; cluster_sync();
K pushes(u32* o) { PUSHES(cluster_arrive()) }
K pushes_relaxed(u32* o) { PUSHES(RELAXED) }
#define LEAVES(arrival) __shared__ u32 mine; u32 r = cluster_rank(); if (threadIdx.x == 0) mine = r; __syncthreads(); FIRST; \
  if (threadIdx.x == 0) o[r] = far(&mine, r ^ 1); SYNC(arrival);
K leaves(u32* o) { LEAVES(cluster_arrive()) }
K leaves_relaxed(u32* o) { LEAVES(RELAXED) }
// A relaxed arrival that stands before the write is not what is missing.
K unrelated(u32* o) { __shared__ u32 mine; u32 r = cluster_rank(); SYNC(RELAXED); if (threadIdx.x == 0) mine = r; __syncthreads();
  if (threadIdx.x == 0) o[r] = far(&mine, r ^ 1); cluster_sync(); }
#define HANDS(how) __shared__ u64 full; __shared__ u32 s[32]; int t = threadIdx.x; if (t == 0) init(&full, 32); __syncthreads(); \
  if (t < 32) { s[t] = t; how(&full); } else { wait(&full, 0); o[t - 32] = s[63 - t]; }
K hands(u32* o) { HANDS(arrive) }
K hands_relaxed(u32* o) { HANDS(arrive_relaxed) }
// A slot is given back by an arrival.
#define REUSES(how) __shared__ u64 empty; __shared__ u32 s[32]; int t = threadIdx.x; if (t == 0) init(&empty, 32); if (t < 32) s[t] = t; __syncthreads(); \
  if (t < 32) { o[t] = s[31 - t]; how(&empty); } else { wait(&empty, 0); s[t - 32] = 7; }
K reuses(u32* o) { REUSES(arrive) }
K reuses_relaxed(u32* o) { REUSES(arrive_relaxed) }
)";

}  // namespace

TEST_CASE("a race that a release would have ordered names the relaxed arrival", "[cluster]") {
  struct Row {
    const char* entry;
    bool cluster;
    const char* names;  // "": another race; null: none
  };
  constexpr const char* of_cluster = "barrier.cluster.arrive.relaxed.aligned (ptx line ";
  constexpr const char* of_mbarrier = "mbarrier.arrive.relaxed.cta.shared::cta.b64 (ptx line ";
  for (const Row& row : {Row{"reads", true, nullptr}, Row{"reads_relaxed", true, of_cluster},
                         Row{"pushes", true, nullptr}, Row{"pushes_relaxed", true, of_cluster},
                         Row{"leaves", true, nullptr}, Row{"leaves_relaxed", true, of_cluster},
                         Row{"unrelated", true, ""}, Row{"hands", false, nullptr},
                         Row{"hands_relaxed", false, of_mbarrier}, Row{"reuses", false, nullptr},
                         Row{"reuses_relaxed", false, of_mbarrier}}) {
    for (const std::uint64_t seed : {0, 1, 5}) {
      Device d;
      d.options.seed = seed;
      d.options.instruction_budget = 2'000'000;
      if (row.cluster) d.cluster = {2, 1, 1};
      const auto io = d.output("o", 4096);
      const auto report =
          d.run(module_of_cuda(text), row.entry, {row.cluster ? 2u : 1u}, {64}, 0, P{io});
      const std::string faults = faults_of(report);
      CAPTURE(row.entry, seed, faults);
      CHECK(faults.empty() == (row.names == nullptr));
      if (row.names == nullptr || faults.empty()) continue;
      CHECK(report.faults[0].code == "run.race");
      const bool named =
          faults.find(") between the two is relaxed and releases nothing") != std::string::npos;
      CHECK(named == !std::string_view(row.names).empty());
      CHECK(faults.find(row.names) != std::string::npos);
    }
  }
}
