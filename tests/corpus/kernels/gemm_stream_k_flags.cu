// Stream-K: the steps of all tiles in one line, cut evenly over persistent blocks. A block that does not finish its tile leaves the
// partial sums in a workspace and raises a flag; the tile's last block waits for the flags before it and adds.
// cupilot: {"plan": {"let": {"blocks": "5"}, "buffers": [{"name": "part", "bytes": "blocks * 16 * 16 * 4"}, {"name": "flags", "bytes": "blocks * 4", "content": "zeroed"}], "launches": [{"entry": "stream_k", "grid": ["blocks"], "block": [16, 16], "cooperative": true, "args": ["a", "b", "d", "part", "flags", {"i32": "m"}, {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 48, "k": 112}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
constexpr int TILE = 16;

__device__ void raise(unsigned* flag) { asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory"); }
__device__ void await(const unsigned* flag) {
  unsigned up;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(up) : "l"(flag) : "memory");
  } while (up == 0);
}

extern "C" __global__ void stream_k(const float* a, const float* b, float* d, float* part, unsigned* flags, int m, int n, int k) {
  __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
  const int tx = threadIdx.x, ty = threadIdx.y, at = ty * TILE + tx;
  const int depth = k / TILE, steps = (m / TILE) * (n / TILE) * depth;
  const auto cut = [&](int block) { return (int)((long long)steps * block / gridDim.x); };
  int step = cut(blockIdx.x);
  const int end = cut(blockIdx.x + 1);
  while (step < end) {
    const int tile = step / depth, last = min(end, (tile + 1) * depth);
    const int row = tile / (n / TILE) * TILE + ty, col = tile % (n / TILE) * TILE + tx;
    float sum = 0.f;
    for (; step < last; ++step) {
      const int q = step % depth * TILE;
      as[ty][tx] = a[row * k + q + tx];
      bs[ty][tx] = b[(q + ty) * n + col];
      __syncthreads();
      for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
      __syncthreads();
    }
    if (step % depth != 0) {
      part[blockIdx.x * 256 + at] = sum;
      __syncthreads();
      if (at == 0) raise(flags + blockIdx.x);
      break;
    }
    for (int other = (int)blockIdx.x - 1; other >= 0 && cut(other + 1) > tile * depth; --other) {
      if (at == 0) await(flags + other);
      __syncthreads();
      sum += __ldcg(part + other * 256 + at);
      if (cut(other) <= tile * depth) break;
    }
    d[row * n + col] = sum;
  }
}
