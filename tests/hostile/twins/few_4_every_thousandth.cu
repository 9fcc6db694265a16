// cupilot: {"task": ["tests/hostile/tasks/twin_every_thousandth.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Every thousandth element.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[1000ll * i];
}
