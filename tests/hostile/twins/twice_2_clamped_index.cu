// cupilot: {"task": ["tests/hostile/tasks/twin_copy_bytes.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Threads beyond the end store the last element once more.
extern "C" __global__ void k(const unsigned char* x, unsigned char* y, int n) {
  const int i = min((int)(blockIdx.x * 128 + threadIdx.x), n - 1);
  y[i] = x[i];
}
