// cupilot: {"task": ["tests/hostile/tasks/twin_transposed_square.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 16)", "cdiv(n, 16)"], "block": [16, 16], "args": ["x", {"i32": "n"}]}]}}
// A block exchanges a tile with its mirror.
extern "C" __global__ void k(float* x, int n) {
  const int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= n || c >= n || r >= c) return;
  const float a = x[r * n + c], b = x[c * n + r];
  x[r * n + c] = b;
  x[c * n + r] = a;
}
