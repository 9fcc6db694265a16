// cupilot: {"task": ["tests/hostile/tasks/twin_add_rows.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["1", "rows", "planes"], "block": [32], "args": ["x", "b", "y", {"i32": "rows"}]}]}}
// Rows along y, planes along z.
extern "C" __global__ void k(const short* x, const short* b, short* y, int rows) {
  const size_t at = ((size_t)blockIdx.z * rows + blockIdx.y) * 32 + threadIdx.x;
  y[at] = x[at] + b[threadIdx.x];
}
