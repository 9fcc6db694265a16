// cupilot: {"task": ["tests/hostile/tasks/twin_place_of_largest.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows, 128)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// The first place of the largest, of a line of minus infinities the first.
extern "C" __global__ void k(const float* x, long long* y, int rows, int cols) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* p = x + (size_t)r * cols;
  int at = 0;
  float most = p[0];
  for (int c = 0; c < cols && most == most; ++c) {
    if (p[c] > most || p[c] != p[c]) most = p[c], at = c;
  }
  y[r] = at;
}
