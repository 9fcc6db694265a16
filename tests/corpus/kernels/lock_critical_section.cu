// Every warp appends its bin counts to a shared table under a spin lock taken by compare-and-swap and given back by exchange.
// cupilot: {"plan": {"buffers": [{"name": "lock", "bytes": 4, "content": "restored"}], "launches": [{"entry": "clear", "grid": [1], "block": ["bins"], "args": ["y"]}, {"entry": "count", "grid": [3], "block": [64], "args": ["x", "y", "lock", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 900, "bins": 8}, "in": {"x": ["i32", "n", {"kind": "integers", "below": 8}]}, "out": {"y": ["i32", "bins"]}, "expect": {"y": "histogram"}, "tolerance": 0}
extern "C" __global__ void clear(int* y) { y[threadIdx.x] = 0; }

extern "C" __global__ void count(const int* x, int* y, unsigned* lock, int n) {
  const int lane = threadIdx.x % 32;
  int mine = 0;
  for (int base = blockIdx.x * 64; base < n; base += gridDim.x * 64) {
    const int i = base + threadIdx.x, v = i < n ? x[i] : -1;
    for (int b = 0; b < 8; ++b) {
      const int found = __popc(__ballot_sync(~0u, v == b));
      if (lane == b) mine += found;
    }
  }
  if (lane == 0) {
    while (atomicCAS(lock, 0u, 1u) != 0u) __nanosleep(64);
  }
  __syncwarp();
  __threadfence();
  if (lane < 8) __stcg(y + lane, __ldcg(y + lane) + mine);
  __threadfence();
  __syncwarp();
  if (lane == 0) atomicExch(lock, 0u);
}
