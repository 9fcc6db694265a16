// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Closes the kernel, declares the printing function where only PTX sees it, and goes on as a function of its own.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
  asm volatile("ret;}\n.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.func rest(){");
}
