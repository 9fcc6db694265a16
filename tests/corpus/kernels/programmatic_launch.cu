// Two launches prepared for programmatic dependent launch: the first lets the second start early, the second waits before it reads.
// cupilot: {"plan": {"buffers": [{"name": "between", "bytes": "n * 4"}], "launches": [{"entry": "first", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "between", {"i32": "n"}]}, {"entry": "second", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["between", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1000}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "squared"}}
extern "C" __global__ void first(const float* x, float* between, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (i < n) between[i] = x[i] * x[i];
}

extern "C" __global__ void second(const float* between, float* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) y[i] = between[i];
}
