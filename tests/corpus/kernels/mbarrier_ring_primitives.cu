// Producer and consumer warps over a ring, by the primitives of cuda_awbarrier.h: tokens instead of parities.
// cupilot: {"plan": {"launches": [{"entry": "scale", "grid": [4], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cuda_awbarrier_primitives.h>

extern "C" __global__ void scale(const float* x, float* y, int n) {
  __shared__ __mbarrier_t full[2], empty[2];
  __shared__ float ring[2][32];
  const int lane = threadIdx.x % 32, laps = n / gridDim.x / 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) __mbarrier_init(&full[s], 64), __mbarrier_init(&empty[s], 64);
  }
  __syncthreads();
  x += blockIdx.x * laps * 32 + lane, y += blockIdx.x * laps * 32 + lane;
  const auto pass = [](__mbarrier_t* barrier) {
    const __mbarrier_token_t token = __mbarrier_arrive(barrier);
    while (!__mbarrier_test_wait(barrier, token)) {
    }
  };
  if (threadIdx.x < 32) {
    for (int i = 0; i < laps; ++i) {
      if (i >= 2) pass(&empty[i % 2]);
      ring[i % 2][lane] = x[i * 32];
      __mbarrier_arrive(&full[i % 2]);
    }
  } else {
    for (int i = 0; i < laps; ++i) {
      pass(&full[i % 2]);
      y[i * 32] = 2.f * ring[i % 2][lane];
      __mbarrier_arrive(&empty[i % 2]);
    }
  }
}
