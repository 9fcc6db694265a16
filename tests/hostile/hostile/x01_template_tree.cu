// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Four lines that instantiate four million classes.
template <int D, int I> struct T { static constexpr int v = T<D - 1, 2 * I>::v + T<D - 1, 2 * I + 1>::v; };
template <int I> struct T<0, I> { static constexpr int v = I; };
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i] + 0 * T<22, 0>::v;
}
