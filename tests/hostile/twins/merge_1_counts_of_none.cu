// cupilot: {"task": ["tests/hostile/tasks/twin_spread.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// Means and squares of 64 threads merged pair by pair; a side of no elements changes nothing.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  __shared__ float mean[64], squares[64], count[64];
  const int t = threadIdx.x;
  float m = 0, q = 0, n = 0;
  for (int c = t; c < cols; c += 64) {
    const float v = x[(size_t)blockIdx.x * cols + c], d = v - m;
    n += 1;
    m += d / n;
    q += d * (v - m);
  }
  mean[t] = m, squares[t] = q, count[t] = n;
  __syncthreads();
  for (int h = 32; h > 0; h /= 2) {
    if (t < h && count[t + h] > 0) {
      const float na = count[t], nb = count[t + h], d = mean[t + h] - mean[t];
      mean[t] += d * (nb / (na + nb));
      squares[t] += squares[t + h] + d * d * (na * nb / (na + nb));
      count[t] = na + nb;
    }
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = squares[0] / count[0];
}
