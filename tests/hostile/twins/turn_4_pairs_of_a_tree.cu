// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "part", "bytes": "32"}, {"name": "ready", "bytes": "32", "content": "zeroed"}], "launches": [{"entry": "k", "grid": ["8"], "block": [32], "args": ["x", "part", "ready", "y", {"i32": "n"}]}]}}
// Eight blocks add by pairs: who has an even number waits for its neighbour.
extern "C" __global__ void k(const int* x, int* part, int* ready, int* y, int n) {
  int a = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += 256) a += x[i];
  a = __reduce_add_sync(~0u, a);
  if (threadIdx.x != 0) return;
  for (int h = 1; h < 8; h *= 2) {
    if (blockIdx.x & h) {
      part[blockIdx.x] = a;
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(ready + blockIdx.x) : "memory");
      return;
    }
    int r;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(ready + (blockIdx.x | h)) : "memory"); while (r == 0);
    a += part[blockIdx.x | h];
  }
  *y = a;
}
