// GEMMs on tensor cores, as CUDA text. The one for Hopper: a producer warp feeds tiles through a
// ring of stages by tensor-map copies, two warpgroups multiply them by wgmma. D (fp32) = A (M x K,
// bf16, rows along K) times B (N x K, bf16, rows along K) transposed.
#pragma once

#include <string>

#include "ptx/machine/async_text.hpp"
#include "ptx/machine/tensor_map.hpp"

namespace support {

// D (M x N, fp32) = A (M x K) B (K x N), both bf16: 64 x 64 a block of 128 threads, cp.async,
// ldmatrix, mma.sync.
inline const std::string mma_gemm = R"(
typedef unsigned short u16; typedef unsigned u32;
constexpr int BM = 64, BN = 64, BK = 32, ST = 3;
__device__ inline u32 sm(const void* p) { return (u32)__cvta_generic_to_shared(p); }
#ifndef WAIT
#define WAIT asm volatile("cp.async.wait_group %0;" ::"n"(ST - 2))
#endif
extern "C" __global__ void __launch_bounds__(128) gemm(const u16* __restrict__ A, const u16* __restrict__ B, float* __restrict__ D, int M, int N, int K) {
  extern __shared__ __align__(128) u16 smem[];
  u16 *As = smem, *Bs = smem + ST * BM * BK;
  int t = threadIdx.x, lane = t & 31, w = t >> 5, wm = (w >> 1) * 32, wn = (w & 1) * 32, bm = blockIdx.y * BM, bn = blockIdx.x * BN;
  float acc[2][4][4] = {};
  auto load = [&](int st, int k0) {
    for (int i = 0; i < 2; i++) {
      int c = t + i * 128, r = c >> 2, q = c & 3, sq = q ^ ((r >> 1) & 3);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sm(As + st * BM * BK + r * BK + sq * 8)), "l"(A + (size_t)min(bm + r, M - 1) * K + k0 + q * 8), "r"(bm + r < M ? 16 : 0));
    }
    for (int i = 0; i < 2; i++) {
      int c = t + i * 128, r = c >> 3, q = c & 7, sq = q ^ (r & 7);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(sm(Bs + st * BK * BN + r * BN + sq * 8)), "l"(B + (size_t)(k0 + r) * N + bn + q * 8));
    }
    asm volatile("cp.async.commit_group;");
  };
  int nk = K / BK;
  for (int s = 0; s < ST - 1; s++) { if (s < nk) load(s, s * BK); else asm volatile("cp.async.commit_group;"); }
  for (int kt = 0; kt < nk; kt++) {
    WAIT; __syncthreads();
    if (kt + ST - 1 < nk) load((kt + ST - 1) % ST, (kt + ST - 1) * BK); else asm volatile("cp.async.commit_group;");
    int st = kt % ST;
    for (int kk = 0; kk < BK; kk += 16) {
      u32 a[2][4], b[4][2];
      for (int i = 0; i < 2; i++) {
        int r = wm + i * 16 + (lane & 15), q = (kk >> 3) + (lane >> 4); u32 ad = sm(As + st * BM * BK + r * BK + (q ^ ((r >> 1) & 3)) * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3]) : "r"(ad));
      }
      for (int j = 0; j < 4; j++) {
        int r = kk + (lane & 15), q = (wn >> 3) + j; u32 ad = sm(Bs + st * BK * BN + r * BN + (q ^ (r & 7)) * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b[j][0]), "=r"(b[j][1]) : "r"(ad));
      }
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3]) : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
    }
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) {
      int r = bm + wm + i * 16 + (lane >> 2), c = bn + wn + j * 8 + (lane & 3) * 2;
      if (r < M) *(float2*)(D + (size_t)r * N + c) = make_float2(acc[i][j][0], acc[i][j][1]);
      if (r + 8 < M) *(float2*)(D + (size_t)(r + 8) * N + c) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
})";

inline constexpr int gemm_rows = 128, gemm_columns = 128, gemm_depth = 64, gemm_stages = 3,
                     gemm_threads = 384;
inline constexpr int gemm_shared = 1024 + gemm_stages * (gemm_rows + gemm_columns) * gemm_depth * 2;

// The map of one of its operands: boxes of 128 rows by 64.
inline cupilot::ptx::TensorMap rows_along_k(std::uint64_t address, int rows, int k,
                                            std::uint32_t swizzle = 128) {
  cupilot::ptx::TensorMap map;
  map.address = address;
  map.type = cupilot::ptx::Type::bf16;
  map.rank = 2;
  map.dims = {static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(rows), 1, 1, 1};
  map.pitch = {static_cast<std::uint64_t>(k) * 2};
  map.box = {gemm_depth, gemm_rows, 1, 1, 1};
  map.swizzle = swizzle;
  return map;
}

// wgmma m64n128k16 on 64 accumulators of an array.
inline std::string wgmma_text() {
  std::string registers, outputs;
  for (int i = 0; i < 64; ++i) {
    registers += (i == 0 ? "%" : ", %") + std::to_string(i);
    outputs += (i == 0 ? "\"+f\"(d[" : ", \"+f\"(d[") + std::to_string(i) + "])";
  }
  return "D void multiply(float (&d)[64], u64 a, u64 b, int adds) {\n"
         "  asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %66, 0; "
         "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" +
         registers + "}, %64, %65, p, 1, 1, 0, 0; }\" : " + outputs +
         " : \"l\"(a), \"l\"(b), \"r\"(adds));\n}\n";
}

inline const std::string warp_specialised_gemm = async_text + wgmma_text() + R"(
constexpr int BM = 128, BN = 128, BK = 64, ST = 3, BYTES = (BM + BN) * BK * 2;
D void multiply_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
D void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> D void multiply_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// Rows of 128 bytes, 128-byte swizzle, 8 rows 1024 bytes apart.
D u64 descriptor(const void* p) { return ((u64)(sm(p) & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62); }
extern "C" __global__ void __launch_bounds__(384, 1) gemm(const __grid_constant__ Map ma, const __grid_constant__ Map mb, float* d, int n, int k) {
  extern __shared__ __align__(1024) unsigned char s[];
  __shared__ u64 full[ST], empty[ST];
  int t = threadIdx.x, group = t / 128, row = blockIdx.y * BM, column = blockIdx.x * BN, steps = k / BK;
  if (t == 0) {
    for (int i = 0; i < ST; ++i) { init(&full[i], 1); init(&empty[i], 8); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t == 0) {
      for (int i = 0; i < steps; ++i) {
        int at = i % ST;
        if (i >= ST) wait(&empty[at], (i / ST - 1) & 1);
        expect(&full[at], BYTES);
        tile2(s + at * BYTES, &ma, i * BK, row, &full[at]);
        tile2(s + at * BYTES + BM * BK * 2, &mb, i * BK, column, &full[at]);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float sum[64];
  int lane = t % 32, warp = t / 32 % 4;
  for (int i = 0; i < steps; ++i) {
    int at = i % ST;
    wait(&full[at], (i / ST) & 1);
    u64 a = descriptor(s + at * BYTES + (group - 1) * 64 * BK * 2), b = descriptor(s + at * BYTES + BM * BK * 2);
    multiply_fence();
    for (int j = 0; j < BK / 16; ++j) multiply(sum, a + 2 * j, b + 2 * j, i + j != 0);
    multiply_commit();
    multiply_wait<1>();
    if (i > 0 && lane == 0) arrive(&empty[(i - 1) % ST]);
  }
  multiply_wait<0>();
  for (int j = 0; j < 64; ++j) {
    int r = row + (group - 1) * 64 + warp * 16 + lane / 4 + 8 * (j / 2 % 2), c = column + j / 4 * 8 + lane % 4 * 2 + j % 2;
    d[(long long)r * n + c] = sum[j];
  }
}
)";

}  // namespace support
