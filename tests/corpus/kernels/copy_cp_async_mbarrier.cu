// cp.async that reports to an mbarrier: every thread arrives by its copies' completion, consumers wait on the phase.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [4], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void wait(u64* barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred done;\nagain:\n\tmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(at(barrier)),
      "r"(parity) : "memory");
}

extern "C" __global__ void scale(const float* x, float* y, int n) {
  __shared__ __align__(16) float tile[512];
  __shared__ u64 full;
  const int t = threadIdx.x, share = n / gridDim.x;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(at(&full)) : "memory");
  __syncthreads();
  for (int lap = 0; lap < share / 512; ++lap) {
    const int base = blockIdx.x * share + lap * 512;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at(tile + t * 4)), "l"(x + base + t * 4) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(&full)) : "memory");
    wait(&full, lap & 1);
    for (int i = t; i < 512; i += 128) y[base + i] = 2.f * tile[i];
    __syncthreads();
  }
}
