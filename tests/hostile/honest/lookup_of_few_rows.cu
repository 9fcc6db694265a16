// cupilot: {"task": ["tests/hostile/tasks/lookup_few.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["tokens", "cdiv(width, 128)"], "block": [128], "args": ["table", "id", "y", {"i32": "width"}]}]}}
// 24 of 60000 rows are read: the floor counts no more.
extern "C" __global__ void k(const float* table, const int* id, float* y, int width) {
  const int c = blockIdx.y * 128 + threadIdx.x;
  if (c < width) y[(long long)blockIdx.x * width + c] = table[(long long)id[blockIdx.x] * width + c];
}
