// LeakyReLU through a functor and a generic grid-stride map, as small libraries do it.
// cupilot: {"plan": {"launches": [{"entry": "map<LeakyRelu>", "grid": [4], "block": [128], "args": ["x", "y", {"i64": "n"}]}]}}
// corpus: {"sizes": {"n": 3001}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "leaky_relu"}}
struct LeakyRelu {
  float slope = 0.01f;
  __device__ float operator()(float v) const { return v > 0.f ? v : slope * v; }
};

template <class F>
__global__ void map(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const F f{};
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) y[i] = f(x[i]);
}
