// cupilot: {"task": ["tests/hostile/tasks/twin_scaled_shift.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [64], "args": ["x", "b", "y", {"i32": "cols"}]}]}}
// Rows begin anywhere: a head by single elements up to the first whole vector, then vectors, then the tail.
extern "C" __global__ void k(const float* x, const float* b, float* y, int cols) {
  const float* from = x + (size_t)blockIdx.x * cols;
  float* to = y + (size_t)blockIdx.x * cols;
  const int t = threadIdx.x;
  const int ahead = (int)((16 - (size_t)from % 16) % 16 / 4), head = min(ahead, cols);
  const bool alike = (size_t)to % 16 == (size_t)from % 16;
  if (t < head) to[t] = from[t] * 2.0f + b[t];
  const int vectors = (cols - head) / 4, tail = head + vectors * 4;
  for (int v = t; v < vectors; v += 64) {
    const int c = head + v * 4;
    const float4 a = *(const float4*)(from + c);
    const float4 r = {a.x * 2.0f + b[c], a.y * 2.0f + b[c + 1], a.z * 2.0f + b[c + 2], a.w * 2.0f + b[c + 3]};
    if (alike) *(float4*)(to + c) = r;
    else to[c] = r.x, to[c + 1] = r.y, to[c + 2] = r.z, to[c + 3] = r.w;
  }
  if (tail + t < cols) to[tail + t] = from[tail + t] * 2.0f + b[tail + t];
}
