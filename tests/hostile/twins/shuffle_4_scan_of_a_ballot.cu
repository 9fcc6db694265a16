// cupilot: {"task": ["tests/hostile/tasks/twin_ranks.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// Sums over the lanes that have a large element.
extern "C" __global__ void k(const int* x, int* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x % 32;
  const int v = i < n ? x[i] : 0;
  int s = v > 4 ? v : 0;
  for (int h = 1; h < 32; h *= 2) {
    const int o = __shfl_up_sync(~0u, s, h);
    if (lane >= h) s += o;
  }
  if (i < n) y[i] = v > 4 ? s : 0;
}
