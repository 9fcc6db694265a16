// FlashAttention: a warp takes 16 queries; scores by mma.sync in bf16, online softmax in fp32, the probabilities of the accumulators
// are the next product's A fragments without a detour through shared memory.
// cupilot: {"plan": {"launches": [{"entry": "flash<32>", "grid": ["rows / 32", "heads"], "block": [64], "args": ["q", "k", "v", "y", {"i32": "rows"}, {"i32": "keys"}]}]}}
// corpus: {"sizes": {"heads": 2, "rows": 32, "keys": 64, "depth": 32}, "in": {"q": ["bf16", "heads", "rows", "depth"], "k": ["bf16", "heads", "keys", "depth"], "v": ["bf16", "heads", "keys", "depth"]}, "out": {"y": ["bf16", "heads", "rows", "depth"]}, "expect": {"y": "attention"}, "tolerance": 1e-2}
#include <cuda_bf16.h>

__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned pack(float lo, float hi) {
  const __nv_bfloat162 v = __floats2bfloat162_rn(lo, hi);
  return reinterpret_cast<const unsigned&>(v);
}

template <int DEPTH>
__global__ void flash(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* y, int rows, int keys) {
  __shared__ __align__(16) __nv_bfloat16 ks[32][DEPTH + 8], vs[32][DEPTH + 8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, p = lane % 4 * 2;
  const size_t head = (size_t)blockIdx.y * keys * DEPTH;
  const size_t row = ((size_t)blockIdx.y * rows + blockIdx.x * 32 + warp * 16 + g) * DEPTH;
  unsigned qa[DEPTH / 16][4];
  for (int d = 0; d < DEPTH / 16; ++d) {
    for (int i = 0; i < 4; ++i) {
      qa[d][i] = *reinterpret_cast<const unsigned*>(q + row + (i % 2) * 8 * DEPTH + d * 16 + (i / 2) * 8 + p);
    }
  }
  const float scale = rsqrtf((float)DEPTH) * 1.44269504f;
  float out[DEPTH / 8][4] = {}, most[2] = {-1e30f, -1e30f}, sum[2] = {};
  for (int base = 0; base < keys; base += 32) {
    for (int i = threadIdx.x; i < 32 * DEPTH / 8; i += 64) {
      const int r = i / (DEPTH / 8), c = i % (DEPTH / 8) * 8;
      *reinterpret_cast<uint4*>(&ks[r][c]) = *reinterpret_cast<const uint4*>(k + head + (size_t)(base + r) * DEPTH + c);
      *reinterpret_cast<uint4*>(&vs[r][c]) = *reinterpret_cast<const uint4*>(v + head + (size_t)(base + r) * DEPTH + c);
    }
    __syncthreads();
    float s[4][4] = {};
    for (int n = 0; n < 4; ++n) {
      for (int d = 0; d < DEPTH / 16; ++d) {
        const __nv_bfloat16* from = &ks[n * 8 + g][d * 16 + p];
        mma(s[n], qa[d], *reinterpret_cast<const unsigned*>(from), *reinterpret_cast<const unsigned*>(from + 8));
      }
    }
    for (int h = 0; h < 2; ++h) {
      float m = most[h];
      for (int n = 0; n < 4; ++n) m = fmaxf(m, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
      const float fade = exp2f((most[h] - m) * scale);
      most[h] = m, sum[h] *= fade;
      for (int d = 0; d < DEPTH / 8; ++d) out[d][2 * h] *= fade, out[d][2 * h + 1] *= fade;
      for (int n = 0; n < 4; ++n) {
        for (int c = 2 * h; c < 2 * h + 2; ++c) sum[h] += s[n][c] = exp2f((s[n][c] - m) * scale);
      }
    }
    for (int n = 0; n < 2; ++n) {
      const unsigned pa[4] = {pack(s[2 * n][0], s[2 * n][1]), pack(s[2 * n][2], s[2 * n][3]), pack(s[2 * n + 1][0], s[2 * n + 1][1]),
                              pack(s[2 * n + 1][2], s[2 * n + 1][3])};
      const unsigned from = (unsigned)__cvta_generic_to_shared(&vs[n * 16 + lane % 16][0]);
      for (int d = 0; d < DEPTH / 8; ++d) {
        unsigned b0, b1;
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(from + d * 16) : "memory");
        mma(out[d], pa, b0, b1);
      }
    }
    __syncthreads();
  }
  for (int h = 0; h < 2; ++h) {
    sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
    sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
    for (int d = 0; d < DEPTH / 8; ++d) {
      *reinterpret_cast<unsigned*>(y + row + h * 8 * DEPTH + d * 8 + p) = pack(out[d][2 * h] / sum[h], out[d][2 * h + 1] / sum[h]);
    }
  }
}
