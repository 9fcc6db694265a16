// ELU over any storage type by a traits template; the plan takes the double instance.
// cupilot: {"plan": {"launches": [{"entry": "elu<double, 2>", "grid": ["cdiv(n, 128)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 600}, "in": {"x": ["fp64", "n"]}, "out": {"y": ["fp64", "n"]}, "expect": {"y": "elu"}, "tolerance": 1e-14}
template <class T>
__device__ T elu_of(T v);
template <>
__device__ float elu_of(float v) { return v > 0.f ? v : expm1f(v); }
template <>
__device__ double elu_of(double v) { return v > 0. ? v : expm1(v); }

template <class T, int ITEMS>
__global__ void elu(const T* x, T* y, int n) {
  const int begin = (blockIdx.x * blockDim.x + threadIdx.x) * ITEMS;
#pragma unroll
  for (int j = 0; j < ITEMS; ++j) {
    if (begin + j < n) y[begin + j] = elu_of(x[begin + j]);
  }
}
