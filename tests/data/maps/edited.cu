// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"buffers": [{"name": "work", "bytes": "128 * cdiv(n, 32)"}], "maps": [{"name": "whole", "of": "x", "type": "fp32", "dims": ["n"], "box": [32], "swizzle": 0}], "launches": [{"entry": "copy", "grid": ["cdiv(n, 32)"], "block": [32], "args": ["whole", "work", "x", "y", {"i32": "n"}]}]}}
// Each block makes a map of its own 32 elements from that of the whole, as grouped GEMMs do of each problem's operands.
struct __align__(64) Map { char bytes[128]; };
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void copy(const __grid_constant__ Map whole, Map* work, const float* x, float* y, int n) {
  __shared__ __align__(128) Map map;
  __shared__ __align__(128) float tile[32];
  __shared__ unsigned long long full;
  const int t = threadIdx.x, first = blockIdx.x * 32;
  Map* own = work + blockIdx.x;
  ((unsigned*)&map)[t] = ((const unsigned*)&whole)[t];
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&full)) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (t == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(place(&map)), "l"(x + first) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(place(&map)), "r"(min(32, n - first)) : "memory");
  }
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(own), "r"(place(&map)) : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(own) : "memory");
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(place(&full)) : "memory");
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(place(tile)), "l"(own), "r"(0), "r"(place(&full)) : "memory");
  }
  unsigned done = 0;
  while (done == 0) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(place(&full)) : "memory");
  if (first + t < n) y[first + t] = tile[t];
}
