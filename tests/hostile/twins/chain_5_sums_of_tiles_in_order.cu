// cupilot: {"task": ["tests/hostile/tasks/twin_gemv_split.json"]}
// cupilot: {"plan": {"buffers": [{"name": "turn", "bytes": "cdiv(rows, 32) * 4", "content": "restored"}], "launches": [{"entry": "k", "grid": ["cdiv(rows, 32)", "7"], "block": [32], "args": ["a", "x", "turn", "y", {"i32": "rows"}, {"i32": "k"}]}]}}
// Seven blocks share the columns of 32 rows and add in order.
extern "C" __global__ void k(const float* a, const float* x, int* turn, float* y, int rows, int k) {
  const int r = blockIdx.x * 32 + threadIdx.x, each = (k + 6) / 7;
  float s = 0;
  for (int c = blockIdx.y * each; c < min(k, (int)(blockIdx.y + 1) * each) && r < rows; ++c) s += a[(size_t)r * k + c] * x[c];
  if (threadIdx.x == 0)
    while (atomicAdd(&turn[blockIdx.x], 0) != blockIdx.y) {}
  __threadfence();
  __syncthreads();
  if (r < rows) y[r] = blockIdx.y == 0 ? s : y[r] + s;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(&turn[blockIdx.x], (blockIdx.y + 1) % 7);
}
