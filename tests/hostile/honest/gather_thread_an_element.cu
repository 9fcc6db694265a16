// cupilot: {"task": ["tests/hostile/tasks/gather.json"]}
// cupilot: {"plan": {"launches": [{"entry": "gather", "grid": ["cdiv(tokens * width, 128)"], "block": [128], "args": ["table", "id", "y", {"i32": "tokens * width"}, {"i32": "width"}]}]}}
extern "C" __global__ void gather(const float* table, const int* id, float* y, int count, int width) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < count) y[i] = table[(long long)id[i / width] * width + i % width];
}
