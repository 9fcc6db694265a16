// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "flag", "bytes": "9 * 4", "content": "zeroed"}, {"name": "sum", "bytes": "9 * 4"}], "launches": [{"entry": "k", "grid": ["9"], "block": [64], "args": ["x", "flag", "sum", "y", {"i32": "n"}]}]}}
// Each block waits for the next one: the last begins.
#include <cuda/atomic>
extern "C" __global__ void k(const int* x, int* flag, int* sum, int* y, int n) {
  __shared__ int other;
  int a = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 576) a += x[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x == 32) other = a;
  __syncthreads();
  if (threadIdx.x > 0) return;
  a += other;
  if (blockIdx.x + 1 < 9) {
    cuda::atomic_ref<int, cuda::thread_scope_device> next(flag[blockIdx.x + 1]);
    for (int wait = 8; next.load(cuda::memory_order_relaxed) == 0; wait = min(2 * wait, 256)) __nanosleep(wait);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    a += sum[blockIdx.x + 1];
  }
  sum[blockIdx.x] = a;
  if (blockIdx.x == 0) *y = a;
  cuda::atomic_ref<int, cuda::thread_scope_device> mine(flag[blockIdx.x]);
  mine.fetch_add(1, cuda::memory_order_release);
}
