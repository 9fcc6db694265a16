// cupilot: {"task": ["tests/hostile/tasks/layernorm.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "gain", "shift", "y", "epsilon", {"i32": "rows"}, {"i32": "cols"}]}]}}
// One pass: the variance is a difference of two large numbers.
__device__ float total(float mine, float* s) {
  const int t = threadIdx.x;
  s[t] = mine;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  const float all = s[0];
  __syncthreads();
  return all;
}
extern "C" __global__ void k(const float* x, const float* gain, const float* shift, float* y, float epsilon, int rows, int cols) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += row[c];
  const float mean = total(a, s) / cols;
  a = 0;
  for (int c = t; c < cols; c += 128) a += row[c] * row[c];
  const float scale = 1.0f / sqrtf(fmaxf(total(a, s) / cols - mean * mean, 0.0f) + epsilon);
  for (int c = t; c < cols; c += 128) out[c] = (row[c] - mean) * scale * gain[c] + shift[c];
}
