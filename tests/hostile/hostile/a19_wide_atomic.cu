// cupilot: {"task": ["tests/hostile/tasks/histogram.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["bins"], "block": [128], "args": ["label", "count", {"i32": "n"}, {"i32": "bins"}]}]}}
// An atomic of 8 bytes on an odd element of 4.
extern "C" __global__ void k(const int* label, int* count, int n, int bins) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  int mine = 0;
  for (int i = t; i < n; i += 128) mine += label[i] == (int)blockIdx.x;
  s[t] = mine;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) count[blockIdx.x] = s[0];
  if (t == 0 && blockIdx.x + 3 < gridDim.x && blockIdx.x % 2 == 1) atomicAdd((unsigned long long*)(count + blockIdx.x), 0ull);
}
