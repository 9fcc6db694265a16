// Kernels of `cupilot peaks`: each keeps one part of the chip busy and nothing else. The text
// of types.cuh and wgmma.cuh stands before it. All take scratch memory of random bits, its bytes,
// and how often to repeat; how much work a launch is stands beside their names in
// src/backend/cuda/peaks.cpp. Nothing is ever found equal to `never`: it keeps results from being
// dropped.
typedef unsigned long long u64;
typedef long long i64;

#define FIRST (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x)
#define STEP (static_cast<i64>(gridDim.x) * blockDim.x)

__device__ constexpr unsigned never = 0x5EC0DED5u;
__device__ constexpr int together = 8;  // independent accesses or sums a thread

// SplitMix64 of the index.
extern "C" __global__ void fill_random(u64* memory, i64 bytes, i64) {
  for (i64 i = FIRST; i < bytes / 8; i += STEP) {
    u64 x = static_cast<u64>(i) * 0x9E3779B97F4A7C15ull + 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    memory[i] = x ^ (x >> 31);
  }
}

extern "C" __global__ void idle(uint4*, i64, i64) {}

// `bytes` is a whole number of what all threads take at once, in read_memory and copy_memory.
// Around the first level: what is read again lies in L2 or beyond.
__device__ inline uint4 load_l2(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}

extern "C" __global__ void read_memory(uint4* memory, i64 bytes, i64 rounds) {
  const i64 count = bytes / 16;
  unsigned mixed = 0;
  for (i64 round = 0; round < rounds; ++round) {
    for (i64 at = FIRST; at < count; at += STEP * together) {
      uint4 v[together];
#pragma unroll
      for (int j = 0; j < together; ++j) v[j] = load_l2(memory + at + j * STEP);
#pragma unroll
      for (int j = 0; j < together; ++j) mixed ^= v[j].x + v[j].y + v[j].z + v[j].w;
    }
  }
  if (mixed == never) memory[0].x = mixed;
}

// All threads walk around the same `bytes`, a power of two, each from its own place: what one SM
// reads others read before.
extern "C" __global__ void read_around(uint4* memory, i64 bytes, i64 rounds) {
  const unsigned last = static_cast<unsigned>(bytes / 16) - 1, step = static_cast<unsigned>(STEP);
  unsigned at = static_cast<unsigned>(FIRST), mixed = 0;
  for (i64 round = 0; round < rounds; ++round) {
    uint4 v[together];
#pragma unroll
    for (int j = 0; j < together; ++j) v[j] = load_l2(memory + ((at + j * step) & last));
    at += together * step;
#pragma unroll
    for (int j = 0; j < together; ++j) mixed ^= v[j].x + v[j].y + v[j].z + v[j].w;
  }
  if (mixed == never) memory[0].x = mixed;
}

extern "C" __global__ void copy_memory(uint4* memory, i64 bytes, i64) {
  const i64 count = bytes / 32;
  for (i64 at = FIRST; at < count; at += STEP * together) {
    uint4 v[together];
#pragma unroll
    for (int j = 0; j < together; ++j) v[j] = __ldcs(memory + at + j * STEP);
#pragma unroll
    for (int j = 0; j < together; ++j) __stcs(memory + count + at + j * STEP, v[j]);
  }
}

// 16 bytes a thread without conflicts. Volatile, else the assembler keeps what it read before.
extern "C" __global__ void read_shared(uint4* memory, i64, i64 rounds) {
  __shared__ uint4 lines[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) lines[i] = memory[i];
  __syncthreads();
  const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(lines));
  unsigned mixed = 0;
  for (i64 round = 0; round < rounds; ++round) {
#pragma unroll
    for (int j = 0; j < together; ++j) {
      uint4 v;
      const unsigned at =
          start + (threadIdx.x + (static_cast<unsigned>(round) + j) * 32u) % 2048u * 16u;
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "r"(at));
      mixed ^= v.x ^ v.y ^ v.z ^ v.w;
    }
  }
  if (mixed == never) memory[0].x = mixed;
}

// Chains that end in a fixed point's neighbourhood, started from random bits.
template <class Real>
__device__ inline void multiply_add(uint4* memory, i64 rounds) {
  Real sum[together];
#pragma unroll
  for (int j = 0; j < together; ++j)
    sum[j] = static_cast<Real>(memory[(FIRST + j) % 65536].x) * Real(2.3283064365386963e-10);
  const Real a = Real(0.999) - sum[0] * Real(1e-3), b = sum[1] * Real(1e-3);
#pragma unroll 1
  for (i64 round = 0; round < rounds; ++round) {
#pragma unroll
    for (int again = 0; again < 16; ++again) {
#pragma unroll
      for (int j = 0; j < together; ++j) sum[j] = sum[j] * a + b;
    }
  }
  Real all = 0;
  for (int j = 0; j < together; ++j) all += sum[j];
  if (all == Real(never)) memory[0].x = never;
}
extern "C" __global__ void multiply_add_fp32(uint4* memory, i64, i64 rounds) {
  multiply_add<float>(memory, rounds);
}
extern "C" __global__ void multiply_add_fp64(uint4* memory, i64, i64 rounds) {
  multiply_add<double>(memory, rounds);
}

// Random operands of about the exponents of normal numbers: KEPT are the bits that stay random, SET
// those that are one.
#define BITS_BF16 0x81FF81FFu, 0x3E003E00u
#define BITS_FP16 0x8FFF8FFFu, 0x30003000u
#define BITS_TF32 0x81FFFFFFu, 0x3E000000u
#define BITS_E4M3 0x9F9F9F9Fu, 0x20202020u

// A warp's products of registers: two sums in flight a scheduler are too few, eight enough.
#define MMA_KERNEL(NAME, SHAPE, BITS)                                                           \
  template <unsigned KEPT, unsigned SET>                                                        \
  __device__ inline void NAME##_of(uint4* memory, i64 rounds) {                                 \
    const uint4 a4 = memory[FIRST % 65536], b4 = memory[(FIRST + 7) % 65536];                   \
    const unsigned a[4] = {a4.x & KEPT | SET, a4.y & KEPT | SET, a4.z & KEPT | SET,             \
                           a4.w & KEPT | SET};                                                  \
    const unsigned b[2] = {b4.x & KEPT | SET, b4.y & KEPT | SET};                               \
    float sum[together][4] = {};                                                                \
    _Pragma("unroll 1") for (i64 round = 0; round < rounds; ++round) {                          \
      _Pragma("unroll") for (int j = 0; j < together; ++j) asm volatile(                        \
          "mma.sync.aligned." SHAPE                                                             \
          " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sum[j][0]), \
          "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]),  \
          "r"(a[3]), "r"(b[0]), "r"(b[1]));                                                     \
    }                                                                                           \
    float all = 0;                                                                              \
    for (int j = 0; j < together; ++j) all += sum[j][0] + sum[j][1] + sum[j][2] + sum[j][3];    \
    if (all == 1234.5f) memory[0].x = never;                                                    \
  }                                                                                             \
  extern "C" __global__ void NAME(uint4* memory, i64, i64 rounds) {                             \
    NAME##_of<BITS>(memory, rounds);                                                            \
  }

#if __CUDA_ARCH__ >= 800
MMA_KERNEL(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", BITS_BF16)
MMA_KERNEL(mma_fp16, "m16n8k16.row.col.f32.f16.f16.f32", BITS_FP16)
MMA_KERNEL(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", BITS_TF32)
#endif
#if __CUDA_ARCH__ >= 890
MMA_KERNEL(mma_fp8, "m16n8k32.row.col.f32.e4m3.e4m3.f32", BITS_E4M3)
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr int stages = 4, rows_a = 64, rows_b = 256,
              line = 128;  // a line of K is 128 bytes: four products
constexpr int bytes_a = rows_a * line, bytes_b = rows_b * line;

// Two warpgroups, each with lines of A of its own and B shared, as a GEMM's consumers have them.
template <class T, unsigned KEPT, unsigned SET>
__device__ inline void multiply_tiles(uint4* memory, i64 rounds) {
  extern __shared__ unsigned char room[];
  const unsigned start = (static_cast<unsigned>(__cvta_generic_to_shared(room)) + 1023u) & ~1023u;
  const int words = stages * (2 * bytes_a + bytes_b) / 4;
  const unsigned* bits =
      reinterpret_cast<const unsigned*>(memory) + static_cast<i64>(blockIdx.x) * words;
  for (int i = threadIdx.x; i < words; i += blockDim.x)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(start + 4u * i), "r"(bits[i] & KEPT | SET));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const unsigned own = start + static_cast<unsigned>(threadIdx.x / 128) * stages * bytes_a;
  const unsigned both = start + 2 * stages * bytes_a;
  float sum[rows_b / 2] = {};
  for (i64 round = 0; round < rounds; ++round) {
    const unsigned stage = static_cast<unsigned>(round) % stages;
    const u64 a = tile_descriptor(own + stage * bytes_a, 16),
              b = tile_descriptor(both + stage * bytes_b, 16);
    multiply_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) Wgmma<rows_b>::multiply<T, 0, 0>(sum, a + 2 * k, b + 2 * k, 1);
    multiply_commit();
    multiply_wait<1>();
  }
  multiply_wait<0>();
  settle(sum);
  float all = 0;
  for (int i = 0; i < rows_b / 2; ++i) all += sum[i];
  if (all == 1234.5f) memory[0].x = never;
}
#define WGMMA_KERNEL(NAME, T, BITS)                                                           \
  extern "C" __global__ void __launch_bounds__(256, 1) NAME(uint4* memory, i64, i64 rounds) { \
    multiply_tiles<T, BITS>(memory, rounds);                                                  \
  }
WGMMA_KERNEL(wgmma_bf16, bf16, BITS_BF16)
WGMMA_KERNEL(wgmma_fp16, fp16, BITS_FP16)
WGMMA_KERNEL(wgmma_tf32, float, BITS_TF32)
WGMMA_KERNEL(wgmma_fp8, e4m3, BITS_E4M3)
#endif
