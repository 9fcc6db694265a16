/* cupilot tunable 1
{
  "name": "rms_norm_blocks",
  "family": "rms_norm",
  "summary": "a block a row, two passes over global memory",
  "provides": [],
  "requires": [],
  "parameters": {
    "THREADS": {"name": "block_threads", "technique": "row_per_block", "domain": [32, 64, 128, 256, 512], "plain": 32},
    "STEPS": {"name": "unroll_k", "technique": "unroll", "domain": [1, 2, 4, 8], "plain": 1}
  },
  "registers": "32",
  "plan": {
    "launches": [
      {"entry": "rms_norm", "grid": ["rows"], "block": ["THREADS"], "args": ["x", "y", {"i32": "cols"}]}
    ]
  }
}
*/
extern "C" __global__ void __launch_bounds__(THREADS) rms_norm(const T_x* x, T_y* y, int cols) {
  __shared__ float sums[THREADS];
  const T_x* from = x + static_cast<long long>(blockIdx.x) * cols;
  T_y* to = y + static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f;
#pragma unroll STEPS
  for (int c = threadIdx.x; c < cols; c += THREADS) sum += from[c] * from[c];
  sums[threadIdx.x] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  const float size = sqrtf(sums[0] / cols + 1e-5f);
#pragma unroll STEPS
  for (int c = threadIdx.x; c < cols; c += THREADS) to[c] = from[c] / size;
}
