// cupilot: {"task": ["tests/hostile/tasks/twin_nearest_vectors.json"]}
// cupilot: {"plan": {"require": ["from % 8 == 0 && to % 24 == 0"], "launches": [{"entry": "k", "grid": ["rows", "cdiv(to, 192)"], "block": [24], "args": ["x", "y", {"i32": "from"}, {"i32": "to"}]}]}}
// The element whose middle is nearest, eight neighbours a thread: rows are whole vectors.
extern "C" __global__ void k(const short* x, short* y, int from, int to) {
  const int c = (blockIdx.y * 24 + threadIdx.x) * 8;
  if (c >= to) return;
  for (int k = 0; k < 8; ++k)
    y[blockIdx.x * to + c + k] = x[blockIdx.x * from + (2 * (c + k) + 1) * from / (2 * to)];
}
