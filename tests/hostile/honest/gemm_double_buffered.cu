// cupilot: {"task": ["gemm", "m=48", "n=40", "k=24"]}
// cupilot: {"plan": {"launches": [{"entry": "gemm", "grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16], "args": ["A", "B", "D", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// The next slab is loaded into registers while this one is multiplied, then into the other of two buffers: a barrier a slab.
extern "C" __global__ void gemm(const float* a, const float* b, float* d, int m, int n, int k) {
  __shared__ float left[2][16][16], right[2][16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  const auto load_a = [&](int from) { return row < m && from + x < k ? a[(long long)row * k + from + x] : 0.0f; };
  const auto load_b = [&](int from) { return from + y < k && column < n ? b[(long long)(from + y) * n + column] : 0.0f; };
  const int slabs = (k + 15) / 16;
  left[0][y][x] = load_a(0);
  right[0][y][x] = load_b(0);
  __syncthreads();
  float sum = 0.0f;
  for (int s = 0; s < slabs; ++s) {
    const int now = s % 2;
    float next_a = 0.0f, next_b = 0.0f;
    if (s + 1 < slabs) {
      next_a = load_a((s + 1) * 16);
      next_b = load_b((s + 1) * 16);
    }
#pragma unroll
    for (int p = 0; p < 16; ++p) sum = fmaf(left[now][y][p], right[now][p][x], sum);
    if (s + 1 < slabs) {
      left[1 - now][y][x] = next_a;
      right[1 - now][y][x] = next_b;
    }
    __syncthreads();
  }
  if (row < m && column < n) d[(long long)row * n + column] = sum;
}
