// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["x", "y", {"i32": "n"}]}]}}
// A recursion whose backtrace fills the log.
template <int N> struct deep { static constexpr int value = deep<N - 1>::value + deep<N - 1>::missing; };
template <> struct deep<0> { static constexpr int value = 0; };
extern "C" __global__ void k(const float* x, float* y, int n) { y[0] = deep<150>::value; }
