// cupilot: {"task": ["tests/hostile/tasks/attention.json"]}
// cupilot: {"plan": {"launches": [{"entry": "attention", "grid": ["cdiv(queries, 32)"], "block": [32], "args": ["q", "k", "v", "y", "scale", {"i32": "queries"}, {"i32": "keys"}]}]}}
// Nothing keeps a lane from loading the next keys while others of its warp read these.
constexpr int WIDTH = 16;

extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y, float scale, int queries, int keys) {
  __shared__ float key[16][WIDTH], value[16][WIDTH];
  const int query = blockIdx.x * 32 + threadIdx.x;
  float own[WIDTH], sum[WIDTH];
  for (int w = 0; w < WIDTH; ++w) {
    own[w] = query < queries ? q[query * WIDTH + w] : 0.0f;
    sum[w] = 0.0f;
  }
  float largest = __int_as_float(0xff800000), weights = 0.0f;
  for (int from = 0; from < keys; from += 16) {
    const int many = min(16, keys - from);
    for (int i = threadIdx.x; i < many * WIDTH; i += 32) {
      key[i / WIDTH][i % WIDTH] = k[from * WIDTH + i];
      value[i / WIDTH][i % WIDTH] = v[from * WIDTH + i];
    }
    __syncthreads();
    for (int j = 0; j < many; ++j) {
      float score = 0.0f;
      for (int w = 0; w < WIDTH; ++w) score += own[w] * key[j][w];
      score *= scale;
      const float top = fmaxf(largest, score);
      const float kept = largest == top ? 1.0f : expf(largest - top);
      const float weight = expf(score - top);
      weights = weights * kept + weight;
      for (int w = 0; w < WIDTH; ++w) sum[w] = sum[w] * kept + weight * value[j][w];
      largest = top;
    }
  }
  if (query >= queries) return;
  for (int w = 0; w < WIDTH; ++w) y[query * WIDTH + w] = sum[w] / weights;
}
