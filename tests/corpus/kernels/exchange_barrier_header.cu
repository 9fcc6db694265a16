// cuda::barrier with split arrive and wait: work that needs no other thread stands between.
// cupilot: {"plan": {"launches": [{"entry": "twice", "grid": ["n / 128"], "block": [128], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"n": 4096}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "doubled"}}
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void twice(const float* x, float* y) {
  __shared__ float exchanged[128];
  __shared__ barrier ready;
  const int t = threadIdx.x;
  if (t == 0) init(&ready, blockDim.x);
  __syncthreads();
  const float mine = x[blockIdx.x * 128 + t];
  exchanged[t] = mine;
  barrier::arrival_token token = ready.arrive();
  const int partner = t ^ 127;
  ready.wait(static_cast<barrier::arrival_token&&>(token));
  y[blockIdx.x * 128 + partner] = 2.f * exchanged[partner];
}
