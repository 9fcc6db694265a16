// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Pairs from every row's start: rows of odd length are not aligned to pairs.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0;
  const int whole = cols / 2;
  for (int c = t; c < whole; c += 128) a += ((const float2*)row)[c].x + ((const float2*)row)[c].y;
  if (t == 0 && cols % 2 == 1) a += row[cols - 1];
  s[t] = a;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
