// cupilot: {"task": ["tests/hostile/tasks/twin_flags.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "keep", "y", {"i32": "n"}]}]}}
// Four elements a thread, all blocks at work.
extern "C" __global__ void k(const float* x, const unsigned char* keep, float* y, int n) {
  const unsigned first = blockIdx.x * 1024u + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (first + j * 256 < n) y[first + j * 256] = keep[first + j * 256] ? x[first + j * 256] : 0.0f;
}
