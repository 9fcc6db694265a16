// cupilot: {"task": ["tests/hostile/tasks/twin_doubled_to_the_wrap.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(n, 1024), 4096)"], "block": [1024], "args": ["x", "y", {"i64": "n"}]}]}}
// The end lies just below 2^32: a counter of 32 bits never passes it, and all blocks go round for ever.
extern "C" __global__ void k(const float* x, float* y, long long n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  do {
    y[i] = fmaf(2.0f, x[i], 1.0f);
    i += gridDim.x * blockDim.x;
  } while (i < n);
}
