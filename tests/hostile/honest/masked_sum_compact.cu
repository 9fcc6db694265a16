// cupilot: {"task": ["tests/hostile/tasks/masked_sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "sum_kept", "grid": ["rows"], "block": [32], "args": ["x", "keep", "y", {"i32": "cols"}]}]}}
// A warp packs what is kept into shared memory by ballot and count of the lanes before, and adds full batches.
extern "C" __global__ void sum_kept(const float* x, const unsigned char* keep, float* y, int cols) {
  __shared__ float queue[64];
  const int lane = threadIdx.x;
  const long long row = (long long)blockIdx.x * cols;
  int waiting = 0;
  float sum = 0.0f;
  for (int base = 0; base < cols; base += 32) {
    const int c = base + lane;
    const bool kept = c < cols && keep[row + c] != 0;
    const unsigned lanes = __ballot_sync(0xffffffffu, kept);
    if (kept) queue[waiting + __popc(lanes & ((1u << lane) - 1))] = x[row + c];
    waiting += __popc(lanes);
    __syncwarp();
    if (waiting < 32) continue;
    sum += queue[lane];
    const float rest = lane < waiting - 32 ? queue[32 + lane] : 0.0f;
    __syncwarp();
    waiting -= 32;
    if (lane < waiting) queue[lane] = rest;
    __syncwarp();
  }
  if (lane < waiting) sum += queue[lane];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0) y[blockIdx.x] = sum;
}
