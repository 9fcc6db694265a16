// Huber loss: block sums in fp32, one fp64 atomic a block, divided by a tiny second launch.
// cupilot: {"plan": {"buffers": [{"name": "sum", "bytes": 8, "content": "zeroed"}], "launches": [{"entry": "huber", "grid": [5], "block": [96], "args": ["x", "t", "sum", {"i32": "n"}]}, {"entry": "divide", "grid": [1], "block": [1], "args": ["sum", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 3333}, "in": {"x": ["fp32", "n"], "t": ["fp32", "n"]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "huber"}}
extern "C" __global__ void huber(const float* x, const float* t, double* sum, int n) {
  __shared__ double part;
  if (threadIdx.x == 0) part = 0.;
  __syncthreads();
  float mine = 0.f;
  for (int i = blockIdx.x * 96 + threadIdx.x; i < n; i += gridDim.x * 96) {
    const float d = fabsf(x[i] - t[i]);
    mine += d < 1.f ? 0.5f * d * d : d - 0.5f;
  }
  atomicAdd_block(&part, (double)mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, part);
}

extern "C" __global__ void divide(const double* sum, float* y, int n) { *y = (float)(*sum / n); }
