// Hopper's GEMM in small: a producer warp feeds a ring of stages by tensor maps with a 128-byte swizzle, a warpgroup multiplies by
// wgmma with one product in flight, results leave through shared memory by a tensor-map store. B is stored by columns.
// cupilot: {"plan": {"maps": [{"name": "ma", "of": "a", "type": "bf16", "dims": ["k", "m"], "pitch": ["k * 2"], "box": [64, 64], "swizzle": 128}, {"name": "mb", "of": "b", "type": "bf16", "dims": ["k", "n"], "pitch": ["k * 2"], "box": [64, 64], "swizzle": 128}, {"name": "md", "of": "d", "type": "fp32", "dims": ["n", "m"], "pitch": ["n * 4"], "box": [64, 64], "swizzle": 0}], "launches": [{"entry": "gemm", "grid": ["cdiv(n, 64)", "cdiv(m, 64)"], "block": [256], "shared": "3 * 16384 + 16384 + 1024", "args": ["ma", "mb", "md", {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 80, "n": 64, "k": 320}, "constants": {"trans_b": 1}, "in": {"a": ["bf16", "m", "k"], "b": ["bf16", "n", "k"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}, "tolerance": 1e-5}
struct __align__(64) Map {
  char bytes[128];
};
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(u64* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)), "r"(bytes) : "memory");
}
__device__ void wait(u64* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(at(barrier)), "r"(parity) : "memory");
  }
}

constexpr int STAGES = 3, BYTES = 2 * 64 * 64 * 2;

__device__ void tile(void* to, const Map* map, int x, int y, u64* barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(to)), "l"(map),
               "r"(x), "r"(y), "r"(at(barrier)) : "memory");
}
// Rows of 128 bytes, swizzled; 8 rows make 1024 bytes.
__device__ u64 descriptor(const void* p) { return (u64)((at(p) & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62; }
__device__ void multiply(float (&d)[32], u64 a, u64 b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(256, 1) gemm(const __grid_constant__ Map ma, const __grid_constant__ Map mb, const __grid_constant__ Map md, int k) {
  extern __shared__ __align__(1024) unsigned char raw[];
  unsigned char* ring = raw + (1024 - at(raw) % 1024) % 1024;
  __shared__ u64 full[STAGES], empty[STAGES];
  const int t = threadIdx.x, row = blockIdx.y * 64, col = blockIdx.x * 64, steps = k / 64;
  if (t == 0) {
    for (int s = 0; s < STAGES; ++s) init(&full[s], 1), init(&empty[s], 4);
  }
  __syncthreads();
  if (t >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (t != 128) return;
    for (int i = 0; i < steps; ++i) {
      unsigned char* stage = ring + i % STAGES * BYTES;
      if (i >= STAGES) wait(&empty[i % STAGES], (i / STAGES - 1) & 1);
      expect(&full[i % STAGES], BYTES);
      tile(stage, &ma, i * 64, row, &full[i % STAGES]);
      tile(stage + BYTES / 2, &mb, i * 64, col, &full[i % STAGES]);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float d[32] = {};
  const auto arrive = [&](int i) {
    if (t % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&empty[i % STAGES])) : "memory");
  };
  for (int i = 0; i < steps; ++i) {
    wait(&full[i % STAGES], i / STAGES & 1);
    const u64 a = descriptor(ring + i % STAGES * BYTES), b = descriptor(ring + i % STAGES * BYTES + BYTES / 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int j = 0; j < 4; ++j) multiply(d, a + 2 * j, b + 2 * j);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (i > 0) arrive(i - 1);
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  float* out = reinterpret_cast<float*>(ring + STAGES * BYTES);
  for (int i = 0; i < 32; ++i) out[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("bar.sync 1, 128;" ::: "memory");
  if (t == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&md), "r"(col), "r"(row), "r"(at(out)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
  }
}
