// 64 x 64 tiles of 64 threads, 8 x 8 elements a thread, vector loads, two buffers in shared memory and the next slab in registers.
// cupilot: {"plan": {"launches": [{"entry": "sgemm", "grid": ["n / 64", "m / 64"], "block": [64], "args": ["a", "b", "d", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 64, "n": 128, "k": 56}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
constexpr int BM = 64, BN = 64, BK = 8;

extern "C" __global__ void __launch_bounds__(64) sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ d, int n, int k) {
  __shared__ float as[2][BK][BM + 4], bs[2][BK][BN];
  const int t = threadIdx.x, ty = t / 8, tx = t % 8;
  a += (blockIdx.y * BM + t) * k;
  b += blockIdx.x * BN + (t / 8) * n + (t % 8) * 8;
  float4 ra[2], rb[2];
  auto fetch = [&](int q) {
    ra[0] = *reinterpret_cast<const float4*>(a + q), ra[1] = *reinterpret_cast<const float4*>(a + q + 4);
    rb[0] = *reinterpret_cast<const float4*>(b + q * n), rb[1] = *reinterpret_cast<const float4*>(b + q * n + 4);
  };
  auto stash = [&](int at) {
    const float* v = reinterpret_cast<const float*>(ra);
#pragma unroll
    for (int q = 0; q < BK; ++q) as[at][q][t] = v[q];
    *reinterpret_cast<float4*>(&bs[at][t / 8][(t % 8) * 8]) = rb[0];
    *reinterpret_cast<float4*>(&bs[at][t / 8][(t % 8) * 8 + 4]) = rb[1];
  };
  float sum[8][8] = {};
  fetch(0);
  stash(0);
  __syncthreads();
  for (int q = 0, at = 0; q < k; q += BK, at ^= 1) {
    if (q + BK < k) fetch(q + BK);
#pragma unroll
    for (int i = 0; i < BK; ++i) {
      float x[8], y[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = as[at][i][ty * 8 + j], y[j] = bs[at][i][tx * 8 + j];
#pragma unroll
      for (int r = 0; r < 8; ++r) {
#pragma unroll
        for (int c = 0; c < 8; ++c) sum[r][c] = fmaf(x[r], y[c], sum[r][c]);
      }
    }
    if (q + BK < k) stash(at ^ 1);
    __syncthreads();
  }
  d += (blockIdx.y * BM + ty * 8) * n + blockIdx.x * BN + tx * 8;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    *reinterpret_cast<float4*>(d + r * n) = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    *reinterpret_cast<float4*>(d + r * n + 4) = make_float4(sum[r][4], sum[r][5], sum[r][6], sum[r][7]);
  }
}
