// cupilot: {"task": ["tests/hostile/tasks/gather.json"]}
// cupilot: {"plan": {"launches": [{"entry": "gather", "grid": ["cdiv(tokens, 4)"], "block": [32, 4], "args": ["table", "id", "y", {"i32": "tokens"}, {"i32": "width"}]}]}}
// The first lane reads the token's word and tells the others; whole rows of float4 where the width allows.
extern "C" __global__ void gather(const float* table, const int* id, float* y, int tokens, int width) {
  const int token = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
  if (token >= tokens) return;
  const int word = __shfl_sync(0xffffffffu, lane == 0 ? id[token] : 0, 0);
  const float* from = table + (long long)word * width;
  float* to = y + (long long)token * width;
  if (width % 4 == 0) {
    for (int q = lane; q < width / 4; q += 32) reinterpret_cast<float4*>(to)[q] = reinterpret_cast<const float4*>(from)[q];
  } else {
    for (int c = lane; c < width; c += 32) to[c] = from[c];
  }
}
