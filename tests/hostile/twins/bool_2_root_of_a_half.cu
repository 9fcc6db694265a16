// cupilot: {"task": ["tests/hostile/tasks/twin_root_is_nan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// True where the root of a half is no number.
extern "C" __global__ void k(const unsigned short* x, bool* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = (x[i] & 0x7fff) > 0x7c00 || (x[i] > 0x8000);
}
