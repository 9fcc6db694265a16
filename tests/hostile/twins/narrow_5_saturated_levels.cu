// cupilot: {"task": ["tests/hostile/tasks/twin_levels.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["3", "cdiv(n, 192)"], "block": [64], "args": ["d", "y", {"i32": "n"}]}]}}
// Three blocks take every third byte.
extern "C" __global__ void k(const unsigned char* d, unsigned char* y, int n) {
  const int i = blockIdx.y * 192 + threadIdx.x * 3 + blockIdx.x;
  if (i < n) y[i] = min(255, y[i] + d[i]);
}
