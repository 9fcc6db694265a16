// cupilot: {"task": ["tests/hostile/tasks/scan.json"]}
// cupilot: {"plan": {"let": {"tiles": "cdiv(cols, 64)"}, "buffers": [{"name": "state", "bytes": "rows * tiles * 8", "content": "zeroed"}, {"name": "ticket", "bytes": 4, "content": "zeroed"}], "launches": [{"entry": "scan", "grid": ["rows * tiles"], "block": [64], "args": ["x", "y", "state", "ticket", {"i32": "cols"}, {"i32": "tiles"}]}]}}
// One pass over all tiles, drawn by ticket. A tile publishes its own sum (mark 1), looks back over the tiles before it until
// one has published its prefix (mark 2), then publishes its own. Mark and value travel in one 64-bit word.
__device__ unsigned long long packed(unsigned mark, float value) {
  return ((unsigned long long)mark << 32) | __float_as_uint(value);
}
extern "C" __global__ void scan(const float* x, float* y, unsigned long long* state, unsigned* ticket, int cols, int tiles) {
  __shared__ float of_warp[2];
  __shared__ float prefix;
  __shared__ unsigned drawn;
  const int t = threadIdx.x, lane = t % 32;
  if (t == 0) drawn = atomicAdd(ticket, 1u);
  __syncthreads();
  const int row = drawn / tiles, tile = drawn % tiles, c = tile * 64 + t;
  const long long base = (long long)row * cols;
  float sum = c < cols ? x[base + c] : 0.0f;
  for (int distance = 1; distance < 32; distance *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane >= distance) sum += left;
  }
  if (lane == 31) of_warp[t / 32] = sum;
  __syncthreads();
  if (t >= 32) sum += of_warp[0];
  if (t == 63) {
    unsigned long long* own = state + (long long)row * tiles + tile;
    float before = 0.0f;
    if (tile > 0) atomicExch(own, packed(1, sum));
    for (int back = 1; back <= tile; ++back) {
      unsigned long long word;
      do {
        word = atomicAdd(own - back, 0ull);
      } while (word >> 32 == 0);
      before += __uint_as_float((unsigned)word);
      if (word >> 32 == 2) break;
    }
    atomicExch(own, packed(2, before + sum));
    prefix = before;
  }
  __syncthreads();
  if (c < cols) y[base + c] = prefix + sum;
}
