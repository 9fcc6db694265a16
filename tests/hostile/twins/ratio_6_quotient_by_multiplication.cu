// cupilot: {"task": ["tests/hostile/tasks/twin_row_of.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows * cols, 256)"], "block": [256], "args": ["x", "b", "y", {"i32": "rows * cols"}, {"i32": "cols"}, {"i64": "(4294967296 + cols - 1) / cols"}]}]}}
// The row of an element by the high half of a product, mended where it is one too large.
extern "C" __global__ void k(const int* x, const int* b, int* y, int n, int cols, long long magic) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  unsigned q = (unsigned)(((unsigned long long)i * (unsigned long long)magic) >> 32);
  if (q * (unsigned long long)cols > i) --q;
  y[i] = x[i] + b[q];
}
