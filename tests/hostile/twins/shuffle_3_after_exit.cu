// cupilot: {"task": ["tests/hostile/tasks/twin_neighbour.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 31)"], "block": [32], "args": ["x", "y", {"i32": "n"}]}]}}
// A warp takes 31 elements and sees one more.
extern "C" __global__ void k(const int* x, int* y, int n) {
  const int i = blockIdx.x * 31 + threadIdx.x;
  const int v = i < n ? x[i] : 0;
  const int next = __shfl_down_sync(~0u, v, 1);
  if (threadIdx.x < 31 && i < n) y[i] = i + 1 < n ? next - v : v;
}
