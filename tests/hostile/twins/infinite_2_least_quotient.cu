// cupilot: {"task": ["tests/hostile/tasks/twin_least_quotient.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["a", "b", "c", "y", {"i32": "n"}]}]}}
// The quotient may be infinite, the minimum is not.
extern "C" __global__ void k(const float* a, const float* b, const float* c, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = expf(-fminf(fabsf(a[i] / b[i]), fabsf(c[i])));
}
