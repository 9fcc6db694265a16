// cupilot: {"task": ["tests/hostile/tasks/twin_heads_exchanged.json"]}
// cupilot: {"plan": {"require": ["dim % 2 == 0"], "launches": [{"entry": "k", "grid": ["len", "heads", "batch"], "block": [64], "args": ["x", "y", {"i32": "heads"}, {"i32": "len"}, {"i32": "dim / 2"}]}]}}
// Heads and positions are exchanged, pairs of bf16 a thread.
extern "C" __global__ void k(const unsigned* x, unsigned* y, int heads, int len, int pairs) {
  const unsigned l = blockIdx.x, h = blockIdx.y, b = blockIdx.z;
  const unsigned from = ((b * heads + h) * len + l) * pairs, to = ((b * len + l) * heads + h) * pairs;
  for (int c = threadIdx.x; c < pairs; c += 64) y[to + c] = x[from + c];
}
