// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Constant memory written by its generic address.
extern "C" __constant__ float kept[4];
__constant__ float kept[4];
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
  asm volatile("{.reg .u64 a; mov.u64 a, kept; cvta.const.u64 a, a; st.u32 [a], %0;}" ::"r"(i));
  if (i == 0) y[0] = x[0] + kept[1];
}
