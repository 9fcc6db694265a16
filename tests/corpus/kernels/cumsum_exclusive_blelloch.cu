// Exclusive cumulative sum by the up and down sweeps of a balanced tree, rows padded to a power of two.
// cupilot: {"plan": {"launches": [{"entry": "exclusive<256>", "grid": ["outer"], "block": [128], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 201}, "in": {"x": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "cumsum_exclusive"}}
__device__ constexpr int padded(int i) { return i + i / 32; }

template <int N>
__global__ void exclusive(const float* x, float* y, int cols) {
  __shared__ float s[padded(N)];
  const int t = threadIdx.x;
  for (int i = t; i < N; i += N / 2) s[padded(i)] = i < cols ? x[blockIdx.x * cols + i] : 0.f;
  int step = 1;
  for (int d = N / 2; d > 0; d >>= 1, step <<= 1) {
    __syncthreads();
    if (t < d) s[padded(step * (2 * t + 2) - 1)] += s[padded(step * (2 * t + 1) - 1)];
  }
  if (t == 0) s[padded(N - 1)] = 0.f;
  for (int d = 1; d < N; d <<= 1) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      const int a = padded(step * (2 * t + 1) - 1), b = padded(step * (2 * t + 2) - 1);
      const float left = s[a];
      s[a] = s[b];
      s[b] += left;
    }
  }
  __syncthreads();
  for (int i = t; i < cols; i += N / 2) y[blockIdx.x * cols + i] = s[padded(i)];
}
