// LogSoftmax: maximum and scaled sum in one sweep, merged over lanes as a pair, a second sweep writes.
// cupilot: {"plan": {"launches": [{"entry": "log_softmax", "grid": ["outer"], "block": [32], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 5, "mid": 219}, "in": {"x": ["fp32", "outer", "mid", {"kind": "normal", "high": 3}]}, "out": {"y": ["fp32", "outer", "mid"]}, "expect": {"y": "log_softmax"}}
struct Running {
  float most, sum;
  __device__ void add(Running other) {
    const float m = fmaxf(most, other.most);
    sum = sum * __expf(most - m) + other.sum * __expf(other.most - m);
    most = m;
  }
};

extern "C" __global__ void log_softmax(const float* x, float* y, int cols) {
  x += (size_t)blockIdx.x * cols, y += (size_t)blockIdx.x * cols;
  Running r{-1e30f, 0.f};
  for (int c = threadIdx.x; c < cols; c += 32) r.add({x[c], 1.f});
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) r.add({__shfl_xor_sync(~0u, r.most, s), __shfl_xor_sync(~0u, r.sum, s)});
  const float shift = r.most + __logf(r.sum);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] - shift;
}
