// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["cdiv(rows, 2)"], "block": [64], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Two rows a block at once, so that two chains of additions overlap; the second row of an odd last pair repeats the first.
extern "C" __global__ void sum_rows(const float* x, float* y, int rows, int cols) {
  __shared__ float2 part[64];
  const int t = threadIdx.x;
  const int first = blockIdx.x * 2, second = min(first + 1, rows - 1);
  float2 sum = make_float2(0.0f, 0.0f);
  for (int c = t; c < cols; c += 64) {
    sum.x += x[(long long)first * cols + c];
    sum.y += x[(long long)second * cols + c];
  }
  part[t] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) {
      part[t].x += part[t + half].x;
      part[t].y += part[t + half].y;
    }
    __syncthreads();
  }
  if (t == 0) y[first] = part[0].x;
  if (t == 0 && first + 1 < rows) y[first + 1] = part[0].y;
}
