// cupilot: {"task": ["tests/hostile/tasks/conv1d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "convolve", "grid": ["cdiv(n, 64 * 8)", "channels"], "block": [64], "args": ["x", "f", "y", {"i32": "n"}]}]}}
// Eight outputs a thread; a local array of the last seven values is indexed in a circle.
extern "C" __global__ void convolve(const float* x, const float* f, float* y, int n) {
  const int channel = blockIdx.y, begin = (blockIdx.x * 64 + threadIdx.x) * 8;
  if (begin >= n) return;
  const float* in = x + (long long)channel * (n + 6) + begin;
  float window[7];
  for (int t = 0; t < 6; ++t) window[t] = in[t];
  window[6] = 0.0f;
#pragma unroll 1
  for (int i = 0; i < min(8, n - begin); ++i) {
    window[(i + 6) % 7] = in[i + 6];
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < 7; ++t) sum += f[channel * 7 + t] * window[(i + t) % 7];
    y[(long long)channel * n + begin + i] = sum;
  }
}
