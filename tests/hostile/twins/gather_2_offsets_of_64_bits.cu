// cupilot: {"task": ["tests/hostile/tasks/twin_offsets.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(tokens, 128)"], "block": [128], "args": ["table", "at", "y", {"i32": "tokens"}]}]}}
// Places beyond 2^32.
extern "C" __global__ void k(const unsigned char* table, const long long* at, unsigned char* y, int tokens) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < tokens) y[i] = table[at[i]];
}
