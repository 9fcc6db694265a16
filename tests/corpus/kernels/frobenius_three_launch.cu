// Division by the Frobenius norm of the whole tensor: partial sums, their sum, one scaling sweep.
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "8 * 4"}, {"name": "inverse", "bytes": 4}], "launches": [{"entry": "squares", "grid": [8], "block": [96], "args": ["x", "part", {"i32": "mid"}]}, {"entry": "combine", "grid": [1], "block": [8], "args": ["part", "inverse"]}, {"entry": "scale", "grid": ["cdiv(mid, 128)"], "block": [128], "args": ["x", "inverse", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"mid": 1900}, "in": {"x": ["fp32", "mid"]}, "out": {"y": ["fp32", "mid"]}, "expect": {"y": "l2norm"}}
extern "C" __global__ void squares(const float* x, float* part, int n) {
  __shared__ float tree[96];
  float sum = 0.f;
  for (int i = blockIdx.x * 96 + threadIdx.x; i < n; i += gridDim.x * 96) sum = fmaf(x[i], x[i], sum);
  tree[threadIdx.x] = sum;
  for (int h = 48; h >= 3; h >>= 1) {
    __syncthreads();
    if (threadIdx.x < h) tree[threadIdx.x] += tree[threadIdx.x + h];
  }
  __syncthreads();
  if (threadIdx.x == 0) part[blockIdx.x] = tree[0] + tree[1] + tree[2];
}

extern "C" __global__ void combine(const float* part, float* inverse) {
  float sum = part[threadIdx.x];
  for (int s = 4; s > 0; s >>= 1) sum += __shfl_down_sync(0xffu, sum, s, 8);
  if (threadIdx.x == 0) *inverse = rsqrtf(sum);
}

extern "C" __global__ void scale(const float* x, const float* inverse, float* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[i] * *inverse;
}
