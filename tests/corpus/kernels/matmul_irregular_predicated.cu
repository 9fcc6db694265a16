// Shapes that no tile divides: cp.async with a source size of 0..4 bytes fills edges with zeros.
// cupilot: {"plan": {"launches": [{"entry": "sgemm", "grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [16, 16], "args": ["a", "b", "d", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 35, "n": 47, "k": 61}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
__device__ __forceinline__ void copy4(float* to, const float* from, bool inside) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

extern "C" __global__ void sgemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float as[2][16][33], bs[2][16][32];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
  auto fetch = [&](int at, int q) {
    for (int h = 0; h < 32; h += 16) {
      const bool in_a = row + ty + h < m && q + tx < k, in_b = q + ty < k && col + tx + h < n;
      copy4(&as[at][tx][ty + h], in_a ? a + (row + ty + h) * k + q + tx : a, in_a);
      copy4(&bs[at][ty][tx + h], in_b ? b + (q + ty) * n + col + tx + h : b, in_b);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sum[2][2] = {};
  fetch(0, 0);
  for (int q = 0, at = 0; q < k; q += 16, at ^= 1) {
    if (q + 16 < k) {
      fetch(at ^ 1, q + 16);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i) {
      for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 2; ++c) sum[r][c] = fmaf(as[at][i][ty + 16 * r], bs[at][i][tx + 16 * c], sum[r][c]);
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      const int i = row + ty + 16 * r, j = col + tx + 16 * c;
      if (i < m && j < n) d[i * n + j] = sum[r][c];
    }
  }
}
