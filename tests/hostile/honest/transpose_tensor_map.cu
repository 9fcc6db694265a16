// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"require": ["cols % 4 == 0"], "maps": [{"name": "tiles", "of": "x", "type": "fp32", "dims": ["cols", "rows"], "pitch": ["4 * cols"], "box": [32, 16], "swizzle": 0}], "launches": [{"entry": "transpose", "grid": ["cdiv(cols, 32)", "cdiv(rows, 16)"], "block": [32, 4], "args": ["tiles", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A tile of 16 x 32 arrives by its tensor map, which fills with zeros past the edges, and leaves by ordinary stores.
struct __align__(64) Map {
  char bytes[128];
};
__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

extern "C" __global__ void transpose(const __grid_constant__ Map tiles, float* y, int rows, int cols) {
  __shared__ __align__(128) float tile[16][32];
  __shared__ unsigned long long full;
  const int left = blockIdx.x * 32, top = blockIdx.y * 16, t = threadIdx.y * 32 + threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 2048;" ::"r"(address(&full)) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(address(tile)),
        "l"(&tiles), "r"(left), "r"(top), "r"(address(&full))
        : "memory");
  }
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(address(&full))
        : "memory");
  }
  const int r = top + t % 16;
  for (int i = t / 16; i < 32; i += 8) {
    if (r < rows && left + i < cols) y[(long long)(left + i) * rows + r] = tile[t % 16][i];
  }
}
