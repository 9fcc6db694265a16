// cupilot: {"task": ["tests/hostile/tasks/twin_table_of_bytes.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["min(cdiv(n, 256), 1056)"], "block": [256], "args": ["t", "y", {"i64": "n"}]}]}}
// n fits 32 bits; the counter of 64 bits passes it.
extern "C" __global__ void k(const unsigned char* t, unsigned char* y, unsigned long long n) {
  for (unsigned long long i = blockIdx.x * 256u + threadIdx.x; i < n; i += gridDim.x * 256u) y[i] = t[i & 255];
}
