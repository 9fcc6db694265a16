// cupilot: {"task": ["tests/hostile/tasks/twin_maximum_then_count.json"]}
// cupilot: {"plan": {"buffers": [{"name": "turn", "bytes": "4", "content": "restored"}], "launches": [{"entry": "k", "grid": ["5"], "block": [32], "args": ["x", "turn", "y", {"i32": "n"}], "cooperative": true}]}}
// Each of five blocks has its turn twice.
extern "C" __global__ void k(const int* x, int* turn, int* y, int n) {
  const int lane = threadIdx.x;
  int m = 0;
  for (int i = blockIdx.x * 32 + lane; i < n; i += 160) m = max(m, x[i]);
  m = __reduce_max_sync(~0u, m);
  for (int round = 0; round < 2; ++round) {
    const int mine = round * 5 + blockIdx.x;
    if (lane == 0) {
      int now;
      do asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(now) : "l"(turn) : "memory"); while (now != mine);
    }
    __syncwarp();
    if (round == 0) {
      if (lane == 0) y[0] = mine == 0 ? m : max(y[0], m);
    } else {
      const int top = y[0];
      int c = 0;
      for (int i = blockIdx.x * 32 + lane; i < n; i += 160) c += x[i] == top;
      c = __reduce_add_sync(~0u, c);
      if (lane == 0) y[1] = mine == 5 ? c : y[1] + c;
    }
    __syncwarp();
    if (lane == 0) asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(turn), "r"((mine + 1) % 10) : "memory");
  }
}
