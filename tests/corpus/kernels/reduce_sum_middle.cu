// Sum over the middle dimension: 32 neighbouring columns and 8 slices of the sum a block.
// cupilot: {"plan": {"launches": [{"entry": "sum_middle", "grid": ["cdiv(inner, 32)", "outer"], "block": [32, 8], "args": ["x", "y", {"i32": "mid"}, {"i32": "inner"}]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 101, "inner": 45}, "in": {"x": ["fp32", "outer", "mid", "inner"]}, "out": {"y": ["fp32", "outer", "inner"]}, "expect": {"y": "sum"}}
extern "C" __global__ void sum_middle(const float* x, float* y, int mid, int inner) {
  __shared__ float part[8][33];
  const int c = blockIdx.x * 32 + threadIdx.x;
  x += (size_t)blockIdx.y * mid * inner;
  float sum = 0.f;
  for (int i = threadIdx.y; i < mid && c < inner; i += 8) sum += x[(size_t)i * inner + c];
  part[threadIdx.y][threadIdx.x] = sum;
  for (int h = 4; h > 0; h >>= 1) {
    __syncthreads();
    if (threadIdx.y < h) part[threadIdx.y][threadIdx.x] += part[threadIdx.y + h][threadIdx.x];
  }
  if (threadIdx.y == 0 && c < inner) y[blockIdx.y * inner + c] = part[0][threadIdx.x];
}
