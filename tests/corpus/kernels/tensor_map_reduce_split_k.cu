// Split K without a workspace: blocks add their 16 x 16 partial tiles to the output by a tensor-map reduction.
// cupilot: {"plan": {"maps": [{"name": "out", "of": "d", "type": "fp32", "dims": ["n", "m"], "pitch": ["n * 4"], "box": [16, 16], "swizzle": 0}], "launches": [{"entry": "clear", "grid": ["m"], "block": ["n"], "args": ["d"]}, {"entry": "gemm", "grid": ["n / 16", "m / 16", 3], "block": [16, 16], "args": ["a", "b", "out", {"i32": "n"}, {"i32": "k"}]}]}}
// corpus: {"sizes": {"m": 32, "n": 32, "k": 96}, "in": {"a": ["fp32", "m", "k"], "b": ["fp32", "k", "n"]}, "out": {"d": ["fp32", "m", "n"]}, "expect": {"d": "matmul"}}
struct __align__(64) Map {
  char bytes[128];
};

extern "C" __global__ void clear(float* d) { d[blockIdx.x * blockDim.x + threadIdx.x] = 0.f; }

extern "C" __global__ void gemm(const float* a, const float* b, const __grid_constant__ Map out, int n, int k) {
  __shared__ float as[16][17], bs[16][17];
  __shared__ __align__(128) float tile[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0.f;
  for (int q = blockIdx.z * k / 3; q < (blockIdx.z + 1) * k / 3; q += 16) {
    as[ty][tx] = a[row * k + q + tx];
    bs[ty][tx] = b[(q + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  tile[ty][tx] = sum;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (tx + ty != 0) return;
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&out), "r"(blockIdx.x * 16),
               "r"(blockIdx.y * 16), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
  asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
}
