// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Calls what a pointer in memory says.
__device__ __noinline__ float one(float a) { return a; }
__device__ __noinline__ float two(float a) { return -(-a); }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  float (*volatile way)(float) = n & 1 ? one : two;
  if (i < n) y[i] = way(x[i]);
}
