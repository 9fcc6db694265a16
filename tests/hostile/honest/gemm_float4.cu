// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"require": ["k % 4 == 0", "n % 4 == 0"], "launches": [{"entry": "gemm", "grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [64], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// As blocks of 4 x 4 a thread, with 16-byte loads and stores throughout.
__device__ float4 load(const float* from, bool inside) {
  return inside ? *reinterpret_cast<const float4*>(from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}
extern "C" __global__ void __launch_bounds__(64) gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ alignas(16) float left[8][32], right[8][32];
  const int t = threadIdx.x, top = blockIdx.y * 32, edge = blockIdx.x * 32, ty = t / 8 * 4, tx = t % 8 * 4;
  float sum[4][4] = {};
  for (int from = 0; from < k; from += 8) {
    const int r = top + t / 2, p = from + t % 2 * 4;
    const float4 va = load(a + (long long)r * k + p, r < m && p < k);
    left[t % 2 * 4 + 0][t / 2] = va.x;
    left[t % 2 * 4 + 1][t / 2] = va.y;
    left[t % 2 * 4 + 2][t / 2] = va.z;
    left[t % 2 * 4 + 3][t / 2] = va.w;
    const int q = from + t / 8, c = edge + tx;
    *reinterpret_cast<float4*>(&right[t / 8][tx]) = load(b + (long long)q * n + c, q < k && c < n);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 x = *reinterpret_cast<const float4*>(&left[i][ty]), y = *reinterpret_cast<const float4*>(&right[i][tx]);
      const float own_a[4] = {x.x, x.y, x.z, x.w}, own_b[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int u = 0; u < 4; ++u) {
#pragma unroll
        for (int v = 0; v < 4; ++v) sum[u][v] = fmaf(own_a[u], own_b[v], sum[u][v]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    if (top + ty + i >= m || edge + tx >= n) continue;
    *reinterpret_cast<float4*>(d + (long long)(top + ty + i) * n + edge + tx) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  }
}
