// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A hidden variable written by way of a generic address.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
  asm volatile("{.global .u32 hidden; .reg .u64 a; mov.u64 a, hidden; cvta.global.u64 a, a; st.u32 [a], 1;}");
}
