// Products modulo a 61-bit prime by 128-bit multiplication halves.
// cupilot: {"plan": {"launches": [{"entry": "multiply", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["a", "b", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 200}, "in": {"a": ["i64", "n", {"kind": "integers", "below": 4503599627370496}], "b": ["i64", "n", {"kind": "integers", "below": 4503599627370496}]}, "out": {"y": ["i64", "n"]}, "expect": {"y": "modular_product"}, "tolerance": 0}
extern "C" __global__ void multiply(const unsigned long long* a, const unsigned long long* b, unsigned long long* y, int n) {
  constexpr unsigned long long prime = (1ull << 61) - 1, mask = (1ull << 40) - 1;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  const unsigned long long low = a[i] * b[i], high = __umul64hi(a[i], b[i]);
  unsigned long long r = (low & prime) + (high << 3 | low >> 61);
  if (r >= prime) r -= prime;
  y[i] = r & mask;
}
