// Attention for decoding: keys split over blocks, each leaves its maximum, sum and unscaled output; a second launch merges the splits.
// cupilot: {"plan": {"let": {"splits": "cdiv(keys, 32)"}, "buffers": [{"name": "out", "bytes": "heads * rows * splits * depth * 4"}, {"name": "stats", "bytes": "heads * rows * splits * 8"}], "launches": [{"entry": "part<16>", "grid": ["splits", "rows", "heads"], "block": [32], "args": ["q", "k", "v", "out", "stats", {"i32": "rows"}, {"i32": "keys"}]}, {"entry": "merge<16>", "grid": ["heads * rows"], "block": ["depth"], "args": ["out", "stats", "y", {"i32": "splits"}]}]}}
// corpus: {"sizes": {"heads": 3, "rows": 2, "keys": 75, "depth": 16}, "in": {"q": ["fp32", "heads", "rows", "depth"], "k": ["fp32", "heads", "keys", "depth"], "v": ["fp32", "heads", "keys", "depth"]}, "out": {"y": ["fp32", "heads", "rows", "depth"]}, "expect": {"y": "attention"}}
template <int DEPTH>
__global__ void part(const float* q, const float* k, const float* v, float* out, float2* stats, int rows, int keys) {
  const int key = blockIdx.x * 32 + threadIdx.x, lane = threadIdx.x, row = blockIdx.z * rows + blockIdx.y;
  float score = -1e30f;
  if (key < keys) {
    score = 0.f;
    for (int d = 0; d < DEPTH; ++d) score = fmaf(q[row * DEPTH + d], k[((size_t)blockIdx.z * keys + key) * DEPTH + d], score);
    score *= rsqrtf((float)DEPTH);
  }
  float most = score;
  for (int s = 16; s > 0; s >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, s));
  const float p = key < keys ? __expf(score - most) : 0.f;
  float sum = p;
  for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
  float acc = 0.f;
  for (int j = 0; j < min(32, keys - (int)blockIdx.x * 32); ++j) {
    const float pj = __shfl_sync(~0u, p, j);
    if (lane < DEPTH) acc = fmaf(pj, v[((size_t)blockIdx.z * keys + blockIdx.x * 32 + j) * DEPTH + lane], acc);
  }
  const int at = row * gridDim.x + blockIdx.x;
  if (lane < DEPTH) out[at * DEPTH + lane] = acc;
  if (lane == 0) stats[at] = {most, sum};
}

template <int DEPTH>
__global__ void merge(const float* out, const float2* stats, float* y, int splits) {
  float most = -1e30f, sum = 0.f, acc = 0.f;
  for (int s = 0; s < splits; ++s) most = fmaxf(most, stats[blockIdx.x * splits + s].x);
  for (int s = 0; s < splits; ++s) {
    const float2 t = stats[blockIdx.x * splits + s];
    const float w = __expf(t.x - most);
    sum += w * t.y;
    acc = fmaf(w, out[(blockIdx.x * splits + s) * DEPTH + threadIdx.x], acc);
  }
  y[blockIdx.x * DEPTH + threadIdx.x] = acc / sum;
}
