// Warp specialisation: a producer warpgroup gives registers back (setmaxnreg), feeds a ring by bulk copies, the consumers take more.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [2], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
using u64 = unsigned long long;
constexpr int STAGES = 3, TILE = 256;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(u64* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(at(barrier)), "r"(parity) : "memory");
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) scale(const float* x, float* y, int n) {
  __shared__ __align__(128) float ring[STAGES][TILE];
  __shared__ u64 full[STAGES], empty[STAGES];
  const int t = threadIdx.x, tiles = n / TILE / gridDim.x;
  x += blockIdx.x * tiles * TILE, y += blockIdx.x * tiles * TILE;
  if (t == 0) {
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full[s])) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(at(&empty[s])) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (t != 0) return;
    for (int i = 0; i < tiles; ++i) {
      if (i >= STAGES) wait(&empty[i % STAGES], (i / STAGES - 1) & 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full[i % STAGES])), "n"(TILE * 4) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(ring[i % STAGES])),
                   "l"(x + i * TILE), "n"(TILE * 4), "r"(at(&full[i % STAGES])) : "memory");
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    for (int i = 0; i < tiles; ++i) {
      wait(&full[i % STAGES], i / STAGES & 1);
      for (int j = t - 128; j < TILE; j += 128) y[i * TILE + j] = 2.f * ring[i % STAGES][j];
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncwarp();
      if (t % 32 == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&empty[i % STAGES])) : "memory");
    }
  }
}
