// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Takes a descriptor of 128 bytes where the plan passes a pointer.
struct __align__(64) map { char bytes[128]; };
extern "C" __global__ void k(const __grid_constant__ map x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x.bytes[i & 127];
}
