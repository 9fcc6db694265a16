// A histogram with one atomic for all lanes of a warp that meet in a bin: match.any finds them, the lowest adds their number.
// cupilot: {"plan": {"launches": [{"entry": "clear", "grid": [1], "block": ["bins"], "args": ["y"]}, {"entry": "histogram", "grid": [3], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1500, "bins": 16}, "in": {"x": ["i32", "n", {"kind": "integers", "below": 16}]}, "out": {"y": ["i32", "bins"]}, "expect": {"y": "histogram"}, "tolerance": 0}
extern "C" __global__ void clear(int* y) { y[threadIdx.x] = 0; }

extern "C" __global__ void histogram(const int* x, int* y, int n) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    const unsigned active = __activemask();
    const unsigned peers = __match_any_sync(active, x[i]);
    if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd_block(bins + x[i], __popc(peers));
    int all_equal;
    __match_all_sync(active, x[i], &all_equal);
    if (all_equal) __syncwarp(active);
  }
  __syncthreads();
  if (threadIdx.x < 16 && bins[threadIdx.x] != 0) atomicAdd(y + threadIdx.x, bins[threadIdx.x]);
}
