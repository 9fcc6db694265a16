// cupilot: {"task": ["tests/hostile/tasks/twin_negate_large.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(rows * cols, 256), 16896)"], "block": [256], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A fixed grid walks over all elements, whose number is a product.
extern "C" __global__ void k(const signed char* x, signed char* y, int rows, int cols) {
  const long long total = (long long)rows * cols;
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < total; i += 256 * gridDim.x) y[i] = 7 - x[i];
}
