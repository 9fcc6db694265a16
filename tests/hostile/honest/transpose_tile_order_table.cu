// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"let": {"across": "cdiv(cols, 16)", "down": "cdiv(rows, 16)", "side": "pow2(max(across, down))"}, "buffers": [{"name": "order", "bytes": "8 * across * down", "content": "table"}], "launches": [{"entry": "make_order", "when": "setup", "grid": [1], "block": [1], "args": ["order", {"i32": "across"}, {"i32": "down"}, {"i32": "side"}]}, {"entry": "transpose", "grid": ["across * down"], "block": [16, 16], "args": ["x", "y", "order", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Tiles in Morton order, from a table that a setup launch makes once a shape.
__device__ int every_other_bit(unsigned code) {
  int value = 0;
  for (int bit = 0; bit < 16; ++bit) value |= ((code >> (2 * bit)) & 1) << bit;
  return value;
}
extern "C" __global__ void make_order(int2* order, int across, int down, int side) {
  int count = 0;
  for (unsigned code = 0; code < (unsigned)side * side; ++code) {
    const int2 tile = make_int2(every_other_bit(code), every_other_bit(code >> 1));
    if (tile.x < across && tile.y < down) order[count++] = tile;
  }
}
extern "C" __global__ void transpose(const float* x, float* y, const int2* order, int rows, int cols) {
  __shared__ float tile[16][17];
  const int2 at = order[blockIdx.x];
  const int c = at.x * 16 + threadIdx.x, r = at.y * 16 + threadIdx.y;
  if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = x[(long long)r * cols + c];
  __syncthreads();
  const int to = at.x * 16 + threadIdx.y, from = at.y * 16 + threadIdx.x;
  if (from < rows && to < cols) y[(long long)to * rows + from] = tile[threadIdx.x][threadIdx.y];
}
