// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A block a row, 16-byte loads where the row starts on 16 bytes; what is left of the row goes one by one.
extern "C" __global__ void sum_rows(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float part[2];
  const float* line = x + (long long)blockIdx.x * cols;
  const int quads = (unsigned long long)line % 16 == 0 ? cols / 4 : 0;
  float sum = 0.0f;
  for (int q = threadIdx.x; q < quads; q += 64) {
    const float4 v = reinterpret_cast<const float4*>(line)[q];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (int c = quads * 4 + threadIdx.x; c < cols; c += 64) sum += line[c];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1];
}
