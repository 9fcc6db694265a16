// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Calls by a table of virtual functions.
struct base { __device__ virtual float of(float) = 0; };
struct first : base { __device__ float of(float a) override { return a; } };
struct second : base { __device__ float of(float a) override { return a + 0; } };
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  char place[16];
  base* b = n & 1 ? (base*)new (place) first : (base*)new (place) second;
  if (i < n) y[i] = b->of(x[i]);
}
