// cupilot: {"task": ["tests/hostile/tasks/rmsnorm.json"]}
// cupilot: {"plan": {"require": ["cols % 2 == 0"], "launches": [{"entry": "rmsnorm", "grid": ["rows"], "block": [64], "args": ["x", "gain", "y", "epsilon", {"i32": "cols / 2"}]}]}}
// Pairs of columns, a block a row; the reciprocal root is computed once.
extern "C" __global__ void rmsnorm(const float2* x, const float2* gain, float2* y, float epsilon, int pairs) {
  __shared__ float part[64];
  const long long base = (long long)blockIdx.x * pairs;
  const int t = threadIdx.x;
  float squares = 0.0f;
  for (int p = t; p < pairs; p += 64) squares += x[base + p].x * x[base + p].x + x[base + p].y * x[base + p].y;
  part[t] = squares;
  __syncthreads();
#pragma unroll
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  const float scale = 1.0f / sqrtf(part[0] / (2 * pairs) + epsilon);
  for (int p = t; p < pairs; p += 64) {
    const float2 v = x[base + p];
    y[base + p] = make_float2(v.x * scale * gain[p].x, v.y * scale * gain[p].y);
  }
}
