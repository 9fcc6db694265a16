// cupilot: {"task": ["tests/hostile/tasks/twin_quantised.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(rows * cols, 256)"], "block": [256], "args": ["x", "y", {"i32": "rows * cols"}]}]}}
// Eighths rounded to the nearest whole number, ties to even, held between -128 and 127; a NaN is zero.
extern "C" __global__ void k(const float* x, signed char* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float v = x[i] * 8.0f;
  y[i] = v != v ? 0 : (signed char)fminf(fmaxf(rintf(v), -128.0f), 127.0f);
}
