// Warp-wide instructions, named barriers and atomics, through CUDA text.
#include <bit>
#include <cstdint>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"

using namespace support;
using cupilot::Counter;
using P = Device::Pointer;

namespace {

const std::string text = R"(
typedef unsigned u32; typedef unsigned short u16; typedef unsigned long long u64;
__device__ u32 sm(const void* p) { return (u32)__cvta_generic_to_shared(p); }
extern "C" __global__ void warp(u32* o) {
  int l = threadIdx.x; u32 v = l * 7 % 5, m;
  o[l] = __reduce_add_sync(~0u, v); o += 32;
  o[l] = __reduce_min_sync(~0u, (int)v - 2); o += 32;
  o[l] = __reduce_or_sync(~0u, 1u << v); o += 32;
  o[l] = __match_any_sync(~0u, v); o += 32;
  int all; o[l] = __match_all_sync(~0u, v, &all) + all; o += 32;
  o[l] = __ballot_sync(~0u, v > 2); o += 32;
  o[l] = __any_sync(~0u, v > 3) * 2 + __all_sync(~0u, v < 5); o += 32;
  o[l] = __shfl_up_sync(~0u, l, 3); o += 32;
  o[l] = __shfl_down_sync(~0u, l, 2, 8); o += 32;
  o[l] = __shfl_sync(~0u, l, 5, 16); o += 32;
  if (l & 1) o[l] = __activemask(); else o[l] = __shfl_xor_sync(0x55555555u, l, 2); o += 32;
  asm("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(m)); o[l] = m; o += 32;
  o[l] = __fns(0xf0f0u, 2, 3);
}
// By groups of a warp, each of which names itself: those of eight lanes, or lanes of a class among five.
extern "C" __global__ void groups(u32* o, int classes) {
  int l = threadIdx.x; u32 v = l * 7 % 5, m = 0; const u32 mine = classes ? __match_any_sync(~0u, v) : 0xffu << l / 8 * 8;
  const int next = (l + (classes ? 5 : 1)) % 32;
  o[l] = __reduce_add_sync(mine, l); o += 32;
  o[l] = __reduce_max_sync(mine, l); o += 32;
  o[l] = __match_any_sync(mine, l & 1); o += 32;
  int all; o[l] = __match_all_sync(mine, v, &all) * 2 + all; o += 32;
  o[l] = __ballot_sync(mine, l & 2); o += 32;
  o[l] = __any_sync(mine, l == 9) * 2 + __all_sync(mine, l > 8); o += 32;
  o[l] = __shfl_sync(mine, l, (mine >> next & 1) ? next : l); o += 32;
  asm("{ .reg .pred p; elect.sync _|p, %1; selp.b32 %0, 1, 0, p; }" : "=r"(m) : "r"(mine)); o[l] = m; o += 32;
  o[l] = __activemask();
}
// Twenty lanes: some read lanes that are not there, those past the end of the warp their own.
extern "C" __global__ void absent(u32* o) {
  const int l = threadIdx.x;
  for (int i = 0; i < 2; ++i, o += 20) o[l] = __shfl_down_sync(0xfffffu, l + 100 * i, 10);
  if (l < 8) o[l] = __shfl_sync(0xffu, l, l + 6);
}
extern "C" __global__ void matrices(const u16* a, u16* o) {
  __shared__ __align__(16) u16 s[64 * 4], t[64 * 4]; int l = threadIdx.x;
  for (int i = 0; i < 8; ++i) s[l * 8 + i] = a[l * 8 + i];
  __syncwarp();
  u32 r0, r1, r2, r3, x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(sm(s + l * 8)));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%4], {%0,%1,%2,%3};" ::"r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(sm(t + l * 8)));
  __syncwarp();
  for (int i = 0; i < 8; ++i) o[l * 8 + i] = t[l * 8 + i];
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r0) : "r"(sm(s + (l & 7) * 8)));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(x) : "r"(r0));
  ((u32*)o)[128 + l] = x;
}
extern "C" __global__ void barriers(int* o) {
  __shared__ int s[128]; int t = threadIdx.x, w = t >> 5;
  if (w < 2) { s[t] = t; asm volatile("bar.arrive 1, 128;" ::: "memory"); }
  else { asm volatile("bar.sync 1, 128;" ::: "memory"); o[t] = s[t - 64]; }
  int c = __syncthreads_count(t % 3 == 0), b = __syncthreads_or(t == 99), a = __syncthreads_and(t < 127);
  if (w < 2) o[t] = c * 100 + b * 10 + a;
}
extern "C" __global__ void atomics(u32* u, float* f, double* d, u64* q) {
  int t = threadIdx.x; __shared__ u32 s[4];
  if (t < 4) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[t & 3], 1u); atomicAdd(&u[0], 2u); atomicMax(&u[1], (u32)t); atomicMin((int*)&u[2], -t); atomicXor(&u[3], 1u << (t & 31));
  atomicOr(&u[4], 1u << (t & 31)); atomicInc(&u[5], 9); atomicDec(&u[6], 9);
  u32 old = atomicCAS(&u[7], 0u, (u32)t + 1); if (old == 0) u[8] = t;
  atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(q, 1ull << 33);
  u64 e = atomicExch(&q[1], (u64)t); if (e == 77) q[2] = t;
  __syncthreads();
  if (t < 4) u[9 + t] = s[t];
})";

}  // namespace

TEST_CASE("votes, matches, reductions and shuffles", "[collective]") {
  Device d;
  const auto io = d.output("o", 13 * 32 * 4);
  REQUIRE(faults_of(d.run(module_of_cuda(text), "warp", {1}, {32}, 0, P{io})) == "");
  const auto o = d.values<std::uint32_t>(io);
  std::uint32_t v[32], sum = 0, ballot = 0, match[32] = {};
  for (std::uint32_t l = 0; l < 32; ++l) sum += v[l] = l * 7 % 5;
  for (std::uint32_t l = 0; l < 32; ++l) {
    ballot |= static_cast<std::uint32_t>(v[l] > 2) << l;
    for (std::uint32_t k = 0; k < 32; ++k)
      match[l] |= static_cast<std::uint32_t>(v[k] == v[l]) << k;
  }
  for (std::uint32_t l = 0; l < 32; ++l) {
    CHECK(o[l] == sum);
    CHECK(o[32 + l] == 0xfffffffeu);
    CHECK(o[64 + l] == 31);
    CHECK(o[96 + l] == match[l]);
    CHECK(o[128 + l] == 0);
    CHECK(o[160 + l] == ballot);
    CHECK(o[192 + l] == 3);
    CHECK(o[224 + l] == (l < 3 ? l : l - 3));
    CHECK(o[256 + l] == (l % 8 > 5 ? l : l + 2));
    CHECK(o[288 + l] == (l & 16) + 5);
    CHECK(o[320 + l] == (l % 2 ? 0xaaaaaaaau : l ^ 2));
    CHECK(o[352 + l] == (l == 0 ? 1 : 0));
    CHECK(o[384 + l] == 6);
  }
}

TEST_CASE("lanes that name a part of their warp meet that part", "[collective]") {
  for (const int classes : {0, 1}) {
    Device d;
    const auto io = d.output("o", 9 * 32 * 4);
    REQUIRE(faults_of(d.run(module_of_cuda(text), "groups", {1}, {32}, 0, P{io}, classes)) == "");
    const auto o = d.values<std::uint32_t>(io);
    for (std::uint32_t l = 0; l < 32; ++l) {
      CAPTURE(classes, l);
      const auto key = [&](std::uint32_t lane) { return classes != 0 ? lane * 7 % 5 : lane / 8; };
      std::uint32_t mine = 0, sum = 0, parity = 0, twos = 0, most = 0;
      bool alike = true, above = true, nine = false;
      for (std::uint32_t k = 0; k < 32; ++k) {
        if (key(k) != key(l)) continue;
        mine |= 1u << k;
        sum += k;
        most = k;
        parity |= static_cast<std::uint32_t>((k & 1) == (l & 1)) << k;
        twos |= static_cast<std::uint32_t>((k & 2) != 0) << k;
        alike = alike && k * 7 % 5 == l * 7 % 5;
        above = above && k > 8;
        nine = nine || k == 9;
      }
      const std::uint32_t next = (l + (classes != 0 ? 5 : 1)) % 32;
      CHECK(o[l] == sum);
      CHECK(o[32 + l] == most);
      CHECK(o[64 + l] == parity);
      CHECK(o[96 + l] == (alike ? mine * 2 + 1 : 0));
      CHECK(o[128 + l] == twos);
      CHECK(o[160 + l] == nine * 2u + above);
      CHECK(o[192 + l] == (((mine >> next) & 1) != 0 ? next : l));
      CHECK(o[224 + l] == static_cast<std::uint32_t>((mine & (mine - 1) & (1u << l)) == 0 &&
                                                     (mine & ((1u << l) - 1)) == 0));
      CHECK(o[256 + l] == 0xffffffffu);
    }
  }
}

TEST_CASE("a shuffle gives nothing to count on from lanes that take no part", "[collective]") {
  const auto run = [](std::uint64_t seed) {
    Device d;
    d.options.seed = seed;
    const auto io = d.output("o", 60 * 4);
    REQUIRE(faults_of(d.run(module_of_cuda(text), "absent", {1}, {20}, 0, P{io})) == "");
    return d.values<std::uint32_t>(io);
  };
  const auto first = run(0), again = run(0), other = run(5);
  std::size_t moved = 0, drawn = 0, large = 0;
  for (std::uint32_t i = 0; i < 48; ++i) {
    CAPTURE(i, first[i]);
    CHECK(first[i] == again[i]);
    const std::uint32_t lane = i % 20, from = i < 40 ? lane + 10 : lane + 6;
    if (from >= 32) continue;
    const bool there = from < (i < 40 ? 20u : 8u);
    if (there) CHECK(first[i] == from + (i < 40 ? i / 20 * 100 : 0));
    if (there) continue;
    CHECK(first[i] != 0);
    ++drawn;
    moved += static_cast<std::size_t>(first[i] != other[i]);
    large += static_cast<std::size_t>(first[i] > 1000);
  }
  CHECK(moved > drawn / 2);
  CHECK(large > drawn * 3 / 4);
  std::size_t same = 0;
  for (std::uint32_t i = 10; i < 20; ++i)
    same += static_cast<std::size_t>(first[i] == first[i + 20]);
  CHECK(same < 5);
}

TEST_CASE("matrix loads and stores transpose and undo it", "[collective]") {
  Device d;
  std::vector<std::uint16_t> a(256);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint16_t>(i * 3 + 1);
  const auto ia = d.input("a", a), io = d.output("o", 512 + 128);
  REQUIRE(faults_of(d.run(module_of_cuda(text), "matrices", {1}, {32}, 0, P{ia}, P{io})) == "");
  const auto o = d.values<std::uint16_t>(io);
  for (std::size_t i = 0; i < 256; ++i) REQUIRE(o[i] == a[i]);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t e = 0; e < 2; ++e)
      REQUIRE(o[256 + 2 * lane + e] == a[(lane % 4 * 2 + e) * 8 + lane / 4]);
  }
}

TEST_CASE("named barriers order what they join, and barriers reduce", "[collective]") {
  Device d;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    d.options.seed = seed;
    const auto io = d.output("o", 512);
    const auto report = d.run(module_of_cuda(text), "barriers", {1}, {128}, 0, P{io});
    REQUIRE(faults_of(report) == "");
    const auto o = d.values<int>(io);
    for (int t = 0; t < 128; ++t) REQUIRE(o[t] == (t < 64 ? 43 * 100 + 10 : t - 64));
  }
}

TEST_CASE("atomics of every kind", "[collective]") {
  Device d;
  const auto iu = d.output("u", 64), f = d.output("f", 4), q = d.output("q", 24),
             g = d.output("d", 8);
  for (const auto i : {iu, f, q, g}) d.memory.mark_written(i);
  const std::uint64_t start = 77;
  std::memcpy(d.memory.data(q).data() + 8, &start, 8);
  const auto report = d.run(module_of_cuda(text), "atomics", {1}, {64}, 0, P{iu}, P{f}, P{g}, P{q});
  REQUIRE(faults_of(report) == "");
  const auto u = d.values<std::uint32_t>(iu);
  CHECK(u[0] == 128);
  CHECK(u[1] == 63);
  CHECK(static_cast<std::int32_t>(u[2]) == -63);
  CHECK(u[3] == 0);
  CHECK(u[4] == 0xffffffffu);
  CHECK(u[5] == 4);
  CHECK(u[6] == 6);
  CHECK(u[7] == 1);
  CHECK(u[8] == 0);
  for (int i = 9; i < 13; ++i) CHECK(u[i] == 16);
  CHECK(d.values<float>(f)[0] == 32);
  CHECK(d.values<double>(g)[0] == 16);
  const auto w = d.values<std::uint64_t>(q);
  CHECK(w[0] == std::uint64_t{64} << 33);
  CHECK(w[1] == 63);
  CHECK(w[2] == 0);
  CHECK(report.counts[Counter::atomic_requests].value > 20);
}
