// cupilot: {"task": ["tests/hostile/tasks/conv2d.json"]}
// cupilot: {"plan": {"launches": [{"entry": "convolve", "grid": ["cdiv(w, 16)", "cdiv(h, 4)", "outputs"], "block": [16, 4], "args": ["x", "f", "y", {"i32": "h"}, {"i32": "w"}, {"i32": "inputs"}]}]}}
extern "C" __global__ void convolve(const float* x, const float* f, float* y, int h, int w, int inputs) {
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 4 + threadIdx.y, output = blockIdx.z;
  if (i >= h || j >= w) return;
  float sum = 0.0f;
  for (int c = 0; c < inputs; ++c) {
    const float* plane = x + (long long)c * (h + 2) * (w + 2);
    const float* filter = f + ((long long)output * inputs + c) * 9;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
#pragma unroll
      for (int b = 0; b < 3; ++b) sum = fmaf(filter[a * 3 + b], plane[(long long)(i + a) * (w + 2) + j + b], sum);
    }
  }
  y[((long long)output * h + i) * w + j] = sum;
}
