// cupilot: {"task": ["tests/hostile/tasks/twin_most_of_a_row.json"]}
// cupilot: {"plan": {"require": ["cols % 4 == 0"], "launches": [{"entry": "k", "grid": ["cdiv(rows, 4)"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A warp takes a row by fours: no line is shorter than four elements.
extern "C" __global__ void k(const float4* x, float* y, int rows, int cols) {
  const int r = blockIdx.x * 4 + threadIdx.x / 32;
  if (r >= rows) return;
  float m = __int_as_float(0xff800000);
  for (int c = threadIdx.x % 32; c < cols / 4; c += 32) {
    const float4 v = x[(size_t)r * (cols / 4) + c];
    m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  }
  for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (threadIdx.x % 32 == 0) y[r] = m;
}
