// cupilot: {"task": ["tests/hostile/tasks/twin_is_padding.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 32)", "rows"], "block": [32], "args": ["id", "length", "y", {"i32": "cols"}]}]}}
// True where a token is padding.
extern "C" __global__ void k(const int* id, const int* length, unsigned char* y, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x;
  if (c < cols) y[blockIdx.y * cols + c] = id[blockIdx.y * cols + c] == 0 || c > length[blockIdx.y];
}
