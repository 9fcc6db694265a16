// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A structure of the right size and another alignment.
struct __align__(4) loose { unsigned low, high; };
extern "C" __global__ void k(loose x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float* p = (const float*)(((unsigned long long)x.high << 32) | x.low);
  if (i < n) y[i] = p[i];
}
