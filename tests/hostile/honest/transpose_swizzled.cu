// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"launches": [{"entry": "transpose", "grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 4], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// No padding: column c of row r stands at c xor r.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[32 * 32];
  const int lane = threadIdx.x, left = blockIdx.x * 32, top = blockIdx.y * 32;
  for (int i = threadIdx.y; i < 32; i += 4) {
    if (top + i < rows && left + lane < cols) tile[i * 32 + (lane ^ i)] = x[(long long)(top + i) * cols + left + lane];
  }
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 4) {
    if (top + lane < rows && left + i < cols) y[(long long)(left + i) * rows + top + lane] = tile[lane * 32 + (i ^ lane)];
  }
}
