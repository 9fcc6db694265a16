// cupilot: {"task": ["tests/hostile/tasks/twin_doubled_long.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(n, 256), 2112)"], "block": [256], "args": ["x", "y", {"i64": "n * 4"}]}]}}
// The loop counts bytes.
extern "C" __global__ void k(const char* x, char* y, long long bytes) {
  long long at = (blockIdx.x * 256 + threadIdx.x) * 4;
  while (at < bytes) {
    *(float*)(y + at) = 2 * *(const float*)(x + at);
    at += gridDim.x * 1024;
  }
}
