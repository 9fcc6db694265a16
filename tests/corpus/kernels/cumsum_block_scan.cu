// Cumulative sum of rows: each thread four elements, warps by shuffles, the carry from tile to tile in a register.
// cupilot: {"plan": {"launches": [{"entry": "cumsum", "grid": ["outer"], "block": [128], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 1308}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "cumsum"}}
extern "C" __global__ void cumsum(const float* x, float* y, int cols) {
  __shared__ float of_warp[4];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const size_t begin = (size_t)blockIdx.x * cols;
  float carry = 0.f;
  for (int base = 0; base < cols; base += 512) {
    const int c = base + threadIdx.x * 4;
    float4 v = c < cols ? *reinterpret_cast<const float4*>(x + begin + c) : float4{};
    v.y += v.x, v.z += v.y, v.w += v.z;
    float sum = v.w;
    for (int d = 1; d < 32; d <<= 1) {
      const float left = __shfl_up_sync(~0u, sum, d);
      if (lane >= d) sum += left;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    float before = carry + sum - v.w;
    for (int w = 0; w < 4; ++w) {
      if (w < warp) before += of_warp[w];
      carry += of_warp[w];
    }
    if (c < cols) *reinterpret_cast<float4*>(y + begin + c) = make_float4(v.x + before, v.y + before, v.z + before, v.w + before);
    __syncthreads();
  }
}
