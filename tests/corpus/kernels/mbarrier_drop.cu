// Warps that have no rows left leave a shared mbarrier for good by arrive_drop; the others go on with fewer arrivals.
// cupilot: {"plan": {"launches": [{"entry": "sums", "grid": [1], "block": [128], "args": ["x", "y", {"i32": "outer"}, {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 11, "mid": 64}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer"]}, "expect": {"y": "sum"}}
using u64 = unsigned long long;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void sums(const float* x, float* y, int rows, int cols) {
  __shared__ u64 lap_done;
  __shared__ float of_row[4];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(at(&lap_done)) : "memory");
  __syncthreads();
  for (int row = warp; row < rows; row += 4) {
    float sum = 0.f;
    for (int c = lane; c < cols; c += 32) sum += x[row * cols + c];
    for (int s = 16; s > 0; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
    if (lane == 0) {
      of_row[warp] = sum;
      y[row] = of_row[warp];
      u64 state;
      if (row + 4 < rows) {
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(&lap_done)) : "memory");
        unsigned done = 0;
        while (!done) {
          asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                       : "=r"(done) : "r"(at(&lap_done)), "l"(state) : "memory");
        }
      } else {
        asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(&lap_done)) : "memory");
      }
    }
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(&lap_done)) : "memory");
}
