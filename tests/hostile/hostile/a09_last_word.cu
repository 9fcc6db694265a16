// cupilot: {"task": ["tests/hostile/tasks/gather_many.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["tokens"], "block": [64], "args": ["table", "id", "y", {"i32": "width"}]}]}}
// Of 100 000 words the last is given as the one before it, and the first as the second.
extern "C" __global__ void k(const float* table, const int* id, float* y, int width) {
  const int w = min(max(id[blockIdx.x], 1), 99998);
  for (int c = threadIdx.x; c < width; c += 64) y[(long long)blockIdx.x * width + c] = table[(long long)w * width + c];
}
