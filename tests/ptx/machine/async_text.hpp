// CUDA text that the tests of asynchronous kernels share: thin names for the instructions, and no
// more.
#pragma once

#include <string>

namespace support {

inline const std::string async_text = R"(
typedef unsigned u32; typedef unsigned short u16; typedef unsigned long long u64;
struct __align__(64) Map { char bytes[128]; };
#define K extern "C" __global__ void
#define D __device__ __forceinline__
#ifndef DRAIN
#define DRAIN asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#endif
#ifndef FENCE_PROXY
#define FENCE_PROXY asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#endif
D u32 sm(const void* p) { return (u32)__cvta_generic_to_shared(p); }
D void init(u64* b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(b)), "r"(n) : "memory"); }
D void expect(u64* b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sm(b)), "r"(n) : "memory"); }
D void arrive(u64* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sm(b)) : "memory"); }
D u64 arrive_state(u64* b) { u64 s; asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(s) : "r"(sm(b)) : "memory"); return s; }
D bool try_once(u64* b, u32 parity) {
  u32 ok; asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(ok) : "r"(sm(b)), "r"(parity) : "memory"); return ok; }
D void wait(u64* b, u32 parity) { while (!try_once(b, parity)) { } }
D void mapped_arrive(u64* b, u32 rank) {
  asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [a]; }" ::"r"(sm(b)), "r"(rank) : "memory"); }
D u32 mapa(const void* p, u32 rank) { u32 a; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(sm(p)), "r"(rank)); return a; }
D void load(void* to, const void* from, u32 n, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(sm(to)), "l"(from), "r"(n), "r"(sm(b)) : "memory"); }
D void store(void* to, const void* from, u32 n) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(sm(from)), "r"(n) : "memory"); }
D void tile2(void* to, const Map* m, int x, int y, u64* b) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(sm(to)), "l"(m), "r"(x), "r"(y), "r"(sm(b)) : "memory"); }
D void tile2_multicast(void* to, const Map* m, int x, int y, u64* b, u16 mask) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(sm(to)), "l"(m), "r"(x), "r"(y), "r"(sm(b)), "h"(mask) : "memory"); }
D void untile2(const Map* m, int x, int y, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(m), "r"(x), "r"(y), "r"(sm(from)) : "memory"); }
D void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
D void wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
D void wait_groups() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
D void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
D void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
D void cluster_sync() { cluster_arrive(); cluster_wait(); }
D u32 cluster_rank() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
D u32 cluster_size() { u32 r; asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
)";

}  // namespace support
