// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Small probabilities are zero.
extern "C" __global__ void k(const float* x, float* y, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float top = __int_as_float(0xff800000);
  for (int c = t; c < cols; c += 128) top = fmaxf(top, row[c]);
  s[t] = top;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] = fmaxf(s[t], s[t + h]);
    __syncthreads();
  }
  top = s[0];
  __syncthreads();
  float sum = 0;
  for (int c = t; c < cols; c += 128) sum += expf(row[c] - top);
  s[t] = sum;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  for (int c = t; c < cols; c += 128) out[c] = row[c] - top < -12 ? 0 : expf(row[c] - top) / s[0];
}
