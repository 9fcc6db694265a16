// cupilot: {"task": ["tests/hostile/tasks/twin_last_of_row.json"]}
// cupilot: {"plan": {"require": ["cols <= 48", "cols > 32"], "launches": [{"entry": "k", "grid": ["rows"], "block": [48], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block of 48 threads; its second warp has 16 lanes.
#include <cuda_fp16.h>
extern "C" __global__ void k(const __half* x, __half* y, int cols) {
  __shared__ __half end;
  const int t = threadIdx.x;
  const __half v = t < cols ? x[blockIdx.x * cols + t] : __half(0);
  if (t >= 32) {
    const __half last = __shfl_sync(0xffffu, v, cols - 33);
    if (t == 32) end = last;
  }
  __syncthreads();
  if (t < cols) y[blockIdx.x * cols + t] = __float2half(__half2float(v) + __half2float(end));
}
