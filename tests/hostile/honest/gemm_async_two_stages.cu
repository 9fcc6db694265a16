// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"constants": {"STAGES": 2, "TILE": 16}}
// cupilot: {"plan": {"launches": [{"entry": "gemm<{STAGES}>", "grid": ["cdiv(n, TILE)", "cdiv(m, TILE)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// Asynchronous copies into a ring; a copy that is cut off fills with zeros.
__device__ void copy(float* to, const float* from, const float* any, bool inside) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(inside ? from : any), "r"(inside ? 4 : 0) : "memory");
}
template <int STAGES>
__global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float left[STAGES][16][16], right[STAGES][16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  const int slabs = (k + 15) / 16;
  const auto start = [&](int s) {
    if (s < slabs) {
      copy(&left[s % STAGES][y][x], a + (long long)row * k + s * 16 + x, a, row < m && s * 16 + x < k);
      copy(&right[s % STAGES][y][x], b + (long long)(s * 16 + y) * n + column, b, s * 16 + y < k && column < n);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int s = 0; s < STAGES - 1; ++s) start(s);
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
    start(s + STAGES - 1);
#pragma unroll
    for (int p = 0; p < 16; ++p) sum = fmaf(left[s % STAGES][y][p], right[s % STAGES][p][x], sum);
  }
  if (row < m && column < n) d[(long long)row * n + column] = sum;
}
