// Complex Fourier transform of 128 points a block: bit reversal, then seven radix-2 passes in shared memory.
// cupilot: {"plan": {"launches": [{"entry": "fft", "grid": ["outer"], "block": [64], "args": ["x", "y"]}]}}
// corpus: {"sizes": {"outer": 3, "mid": 128}, "in": {"x": ["fp32", "outer", "mid", 2]}, "out": {"y": ["fp32", "outer", "mid", 2]}, "expect": {"y": "fourier"}}
extern "C" __global__ void fft(const float2* x, float2* y) {
  __shared__ float2 s[128];
  const int t = threadIdx.x;
  for (int i = t; i < 128; i += 64) s[__brev(i) >> 25] = x[blockIdx.x * 128 + i];
  for (int half = 1; half < 128; half <<= 1) {
    __syncthreads();
    const int k = t % half, at = t / half * 2 * half + k;
    float sine, cosine;
    sincospif(-(float)k / half, &sine, &cosine);
    const float2 a = s[at], b = s[at + half];
    const float2 turned = {b.x * cosine - b.y * sine, b.x * sine + b.y * cosine};
    s[at] = {a.x + turned.x, a.y + turned.y};
    s[at + half] = {a.x - turned.x, a.y - turned.y};
  }
  __syncthreads();
  for (int i = t; i < 128; i += 64) y[blockIdx.x * 128 + i] = s[i];
}
