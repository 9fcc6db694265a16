// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "cdiv(n, 256) * 4"}, {"name": "met", "bytes": 4, "content": "restored"}], "launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [64], "args": ["x", "part", "met", "y", {"i32": "n"}]}]}}
// The block that takes the last ticket adds what all left: its ticket releases and acquires.
#include <cuda/atomic>
extern "C" __global__ void k(const int* x, int* part, unsigned* met, int* y, int n) {
  __shared__ int of_warp[2];
  __shared__ bool last;
  int a = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 256); i += 64) a += x[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = a;
  __syncthreads();
  if (threadIdx.x == 0) {
    part[blockIdx.x] = of_warp[0] + of_warp[1];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> ticket(*met);
    last = ticket.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x >= 32) return;
  a = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += 32) a += part[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x == 0) {
    *y = a;
    *met = 0;
  }
}
