// cupilot: {"task": ["tests/hostile/tasks/twin_reversed_bytes.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
// Bytes in the reverse order, four a thread.
extern "C" __global__ void k(const unsigned char* x, unsigned char* y, long long n) {
  for (int j = 0; j < 4; ++j) {
    const long long i = blockIdx.x * 1024ll + j * 256 + threadIdx.x;
    if (i < n) y[n - 1 - i] = x[i];
  }
}
