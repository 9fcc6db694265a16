// cupilot: {"task": ["tests/hostile/tasks/sum.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// After a divergent loop the lanes take it that all of them are together again, and sum over whoever __activemask names.
extern "C" __global__ void k(const float* x, float* y, int cols) {
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 32) a += x[(long long)blockIdx.x * cols + c];
  for (int h = 16; h > 0; h /= 2) a += __shfl_xor_sync(__activemask(), a, h);
  if (t == 0) y[blockIdx.x] = a;
}
