// Triplet margin loss: both distances in one sweep over three tensors, coalesced groups vote out rows without loss.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": [1], "args": ["y"]}, {"entry": "triplet", "grid": ["outer"], "block": [32], "args": ["x", "t", "u", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 11, "mid": 90}, "in": {"x": ["fp32", "outer", "mid"], "t": ["fp32", "outer", "mid"], "u": ["fp32", "outer", "mid"]}, "out": {"y": ["fp32", "1"]}, "expect": {"y": "triplet"}}
extern "C" __global__ void clear(float* y) { *y = 0.f; }

extern "C" __global__ void triplet(const float* anchor, const float* positive, const float* negative, float* y, int cols) {
  float near = 0.f, far = 0.f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const size_t at = (size_t)blockIdx.x * cols + c;
    const float p = anchor[at] - positive[at] + 1e-6f, n = anchor[at] - negative[at] + 1e-6f;
    near = fmaf(p, p, near), far = fmaf(n, n, far);
  }
  for (int s = 16; s > 0; s >>= 1) near += __shfl_xor_sync(~0u, near, s), far += __shfl_xor_sync(~0u, far, s);
  const float loss = sqrtf(near) - sqrtf(far) + 1.f;
  if (threadIdx.x == 0 && loss > 0.f) atomicAdd(y, loss / gridDim.x);
}
