// cupilot: {"task": ["tests/hostile/tasks/twin_rows_of_8.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(tokens, 32)"], "block": [8, 32], "args": ["table", "id", "y", {"i32": "tokens"}]}]}}
// Rows of eight, a row number of more than 24 bits.
extern "C" __global__ void k(const int* table, const int* id, int* y, int tokens) {
  const int t = blockIdx.x * 32 + threadIdx.y;
  if (t < tokens) y[t * 8 + threadIdx.x] = table[id[t] * 8 + threadIdx.x];
}
