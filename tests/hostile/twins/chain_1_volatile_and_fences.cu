// cupilot: {"task": ["tests/hostile/tasks/twin_total.json"]}
// cupilot: {"plan": {"buffers": [{"name": "turn", "bytes": "4", "content": "restored"}], "launches": [{"entry": "k", "grid": ["16"], "block": [32], "args": ["x", "turn", "y", {"i32": "n"}]}]}}
// Sixteen blocks in turn, by volatile accesses and fences, the last first.
extern "C" __global__ void k(const int* x, volatile int* turn, int* y, int n) {
  int a = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) a += x[i];
  a = __reduce_add_sync(~0u, a);
  const int mine = gridDim.x - 1 - blockIdx.x;
  if (threadIdx.x == 0) {
    while (*turn != mine) __nanosleep(50);
    __threadfence();
    *y = mine == 0 ? a : *y + a;
    __threadfence();
    *turn = mine + 1 == gridDim.x ? 0 : mine + 1;
  }
}
