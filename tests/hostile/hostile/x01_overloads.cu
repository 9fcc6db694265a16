// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// Nested generic lambdas, each of which is tried in both ways.
template <class F> __device__ auto t(F f) -> decltype(f(1), f(1)) { return f(1); }
template <class F> __device__ auto t(F f, ...) -> decltype(f("")) { return f(""); }
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  auto v = t([](auto a0) { return t([](auto a1) { return t([](auto a2) { return t([](auto a3) { return t([](auto a4) { return t([](auto a5) { return t([](auto a6) { return t([](auto a7) { return t([](auto a8) { return t([](auto a9) { return t([](auto a10) { return t([](auto a11) { return t([](auto a12) { return t([](auto a13) { return t([](auto a14) { return t([](auto a15) { return t([](auto a16) { return t([](auto a17) { return t([](auto a18) { return t([](auto a19) { return t([](auto a20) { return t([](auto a21) { return t([](auto a22) { return t([](auto a23) { return a0; }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); }); });
  if (i < n) y[i] = x[i] + v;
}
