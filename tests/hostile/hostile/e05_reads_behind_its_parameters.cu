// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Reads what lies behind the last parameter.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  unsigned long long behind;
  asm volatile("ld.param.u64 %0, [k_param_2+24];" : "=l"(behind));
  if (behind != 0) return;
  if (i < n) y[i] = x[i];
}
