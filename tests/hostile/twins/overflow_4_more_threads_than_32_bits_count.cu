// cupilot: {"task": ["tests/hostile/tasks/twin_table_of_5e9.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 512)"], "block": [512], "args": ["t", "y", {"i64": "n"}]}]}}
// A byte a thread.
extern "C" __global__ void k(const unsigned char* t, unsigned char* y, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = t[i & 63];
}
