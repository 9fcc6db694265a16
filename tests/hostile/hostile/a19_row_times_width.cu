// cupilot: {"task": ["tests/hostile/tasks/lookup_huge.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["tokens", "cdiv(width, 128)"], "block": [128], "args": ["table", "id", "y", {"i32": "width"}]}]}}
// Row times width passes 2^31 for the last rows of the table.
extern "C" __global__ void k(const float* table, const int* id, float* y, int width) {
  const int c = blockIdx.y * 128 + threadIdx.x;
  if (c < width) y[(long long)blockIdx.x * width + c] = table[id[blockIdx.x] * width + c];
}
