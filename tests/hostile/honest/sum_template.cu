// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"constants": {"THREADS": 64, "ITEMS": 4}}
// cupilot: {"plan": {"launches": [{"entry": "sum_rows<{THREADS}, {ITEMS}>", "grid": ["rows"], "block": ["THREADS"], "args": ["x", "y", {"i32": "cols"}]}]}}
// A template's instance named by the plan; several items a thread are added before they meet the sum.
template <int THREADS>
struct BlockSum {
  float (&part)[THREADS];
  __device__ float operator()(float value) const {
    part[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
      __syncthreads();
    }
    return part[0];
  }
};

template <int THREADS, int ITEMS>
__global__ void __launch_bounds__(THREADS) sum_rows(const float* x, float* y, int cols) {
  __shared__ float part[THREADS];
  const float* line = x + (long long)blockIdx.x * cols;
  float sum = 0.0f;
  for (int base = 0; base < cols; base += THREADS * ITEMS) {
    float item[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const int c = base + i * THREADS + threadIdx.x;
      item[i] = c < cols ? line[c] : 0.0f;
    }
    float few = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) few += item[i];
    sum += few;
  }
  sum = BlockSum<THREADS>{part}(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
