// cupilot: {"task": ["tests/hostile/tasks/twin_finite_numbers.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Infinities become the largest numbers of fp32.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i], most = 3.402823466e38f;
  y[i] = v != v ? 0.0f : fminf(fmaxf(v, -most), most);
}
