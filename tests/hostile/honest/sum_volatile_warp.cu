// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp a row over volatile shared memory: a __syncwarp stands between every read and the write that follows.
extern "C" __global__ void sum_rows(const float* x, float* y, int cols) {
  __shared__ volatile float part[32];
  const int lane = threadIdx.x;
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32) sum += x[(long long)blockIdx.x * cols + c];
  part[lane] = sum;
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (lane < half) sum += part[lane + half];
    __syncwarp();
    if (lane < half) part[lane] = sum;
    __syncwarp();
  }
  if (lane == 0) y[blockIdx.x] = part[0];
}
