// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Writes through a surface.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) asm volatile("sust.b.1d.b32.trap [%0, {%1}], {%2};" ::"l"(y), "r"(4 * i), "r"(__float_as_int(x[i])));
}
