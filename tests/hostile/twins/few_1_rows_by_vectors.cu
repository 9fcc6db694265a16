// cupilot: {"task": ["tests/hostile/tasks/lookup_few.json"]}
// cupilot: {"plan": {"require": ["width % 4 == 0"], "launches": [{"entry": "k", "grid": ["tokens"], "block": [128], "args": ["table", "id", "y", {"i32": "width"}]}]}}
// Twenty-four of sixty thousand rows, four elements a thread.
extern "C" __global__ void k(const float4* table, const int* id, float4* y, int width) {
  const long long row = (long long)id[blockIdx.x] * (width / 4);
  for (int c = threadIdx.x; c < width / 4; c += 128) y[(size_t)blockIdx.x * (width / 4) + c] = table[row + c];
}
