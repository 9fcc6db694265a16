// cupilot: {"task": ["tests/hostile/tasks/conv1d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "convolve", "grid": ["cdiv(n, 128)", "channels"], "block": [128], "args": ["x", "f", "y", {"i32": "n"}]}]}}
// 128 outputs a block; what they read is shared.
constexpr int TAPS = 7;

extern "C" __global__ void convolve(const float* x, const float* f, float* y, int n) {
  __shared__ float part[128 + TAPS - 1];
  const int channel = blockIdx.y, from = blockIdx.x * 128, length = n + TAPS - 1;
  for (int i = threadIdx.x; i < 128 + TAPS - 1; i += 128) {
    part[i] = from + i < length ? x[(long long)channel * length + from + i] : 0.0f;
  }
  __syncthreads();
  const int i = from + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int t = 0; t < TAPS; ++t) sum += f[channel * TAPS + t] * part[threadIdx.x + t];
  y[(long long)channel * n + i] = sum;
}
