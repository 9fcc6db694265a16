// Transpose of 16-bit matrices in 8 x 8 blocks: ldmatrix reads, stmatrix.trans writes, no element moves alone.
// cupilot: {"plan": {"launches": [{"entry": "transpose", "grid": ["cols / 16", "rows / 16"], "block": [32], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// corpus: {"sizes": {"rows": 32, "cols": 48}, "in": {"x": ["bf16", "rows", "cols"]}, "out": {"y": ["bf16", "cols", "rows"]}, "expect": {"y": "transposed"}, "tolerance": 0}
extern "C" __global__ void transpose(const unsigned short* x, unsigned short* y, int rows, int cols) {
  __shared__ __align__(16) unsigned short tile[16][16], turned[16][16];
  const int lane = threadIdx.x, r = lane / 2, c = lane % 2 * 8;
  *reinterpret_cast<uint4*>(&tile[r][c]) = *reinterpret_cast<const uint4*>(x + (blockIdx.y * 16 + r) * cols + blockIdx.x * 16 + c);
  __syncwarp();
  unsigned m[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"((unsigned)__cvta_generic_to_shared(&tile[lane % 16][lane / 16 * 8])) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   (unsigned)__cvta_generic_to_shared(&turned[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8])),
               "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]) : "memory");
  __syncwarp();
  *reinterpret_cast<uint4*>(y + (blockIdx.x * 16 + r) * rows + blockIdx.y * 16 + c) = *reinterpret_cast<const uint4*>(&turned[r][c]);
}
