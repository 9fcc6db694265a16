// Four Jacobi steps on a ring in one cooperative launch: a barrier of the grid between steps, two buffers by turns.
// cupilot: {"plan": {"buffers": [{"name": "work", "bytes": "2 * n * 4"}, {"name": "arrived", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "jacobi", "grid": ["n / 64"], "block": [64], "cooperative": true, "args": ["x", "work", "arrived", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 256}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "jacobi_ring"}}
__device__ void grid_barrier(unsigned* arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < target) __nanosleep(32);
    __threadfence();
  }
  __syncthreads();
}

extern "C" __global__ void jacobi(const float* x, float* work, unsigned* arrived, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x, left = (i + n - 1) % n, right = (i + 1) % n;
  __stcg(work + i, x[i]);
  for (int step = 0; step < 4; ++step) {
    grid_barrier(arrived, (step + 1) * gridDim.x);
    const float* from = work + step % 2 * n;
    const float v = 0.25f * __ldcg(from + left) + 0.5f * __ldcg(from + i) + 0.25f * __ldcg(from + right);
    if (step < 3) {
      __stcg(work + (step + 1) % 2 * n + i, v);
    } else {
      y[i] = v;
    }
  }
}
