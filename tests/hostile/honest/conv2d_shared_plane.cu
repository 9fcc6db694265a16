// cupilot: {"task": ["tests/hostile/tasks/conv2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "convolve", "grid": ["cdiv(w, 16)", "cdiv(h, 8)", "cdiv(outputs, 2)"], "block": [16, 8], "args": ["x", "f", "y", {"i32": "outputs"}, {"i32": "h"}, {"i32": "w"}, {"i32": "inputs"}]}]}}
// Two outputs a block share each input tile.
extern "C" __global__ void convolve(const float* x, const float* f, float* y, int outputs, int h, int w, int inputs) {
  __shared__ float tile[10][18];
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  const int first = blockIdx.z * 2, second = min(first + 1, outputs - 1);
  float sum[2] = {0.0f, 0.0f};
  for (int c = 0; c < inputs; ++c) {
    for (int at = threadIdx.y * 16 + threadIdx.x; at < 180; at += 128) {
      const int r = blockIdx.y * 8 + at / 18, s = blockIdx.x * 16 + at % 18;
      tile[at / 18][at % 18] = r < h + 2 && s < w + 2 ? x[((long long)c * (h + 2) + r) * (w + 2) + s] : 0.0f;
    }
    __syncthreads();
    for (int t = 0; t < 9; ++t) {
      const float value = tile[threadIdx.y + t / 3][threadIdx.x + t % 3];
      sum[0] += f[((long long)first * inputs + c) * 9 + t] * value;
      sum[1] += f[((long long)second * inputs + c) * 9 + t] * value;
    }
    __syncthreads();
  }
  if (i >= h || j >= w) return;
  y[((long long)first * h + i) * w + j] = sum[0];
  if (first + 1 < outputs) y[((long long)(first + 1) * h + i) * w + j] = sum[1];
}
