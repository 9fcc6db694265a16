// Barriers that reduce: __syncthreads_count, _and and _or, and barrier.cta.red of a named barrier.
// cupilot: {"plan": {"launches": [{"entry": "count_positive", "grid": ["outer"], "block": [128], "args": ["x", "y", {"i32": "mid"}]}]}}
// corpus: {"sizes": {"outer": 6, "mid": 300}, "in": {"x": ["i32", "outer", "mid", {"kind": "boolean"}]}, "out": {"y": ["i32", "outer"]}, "expect": {"y": "sum"}, "tolerance": 0}
extern "C" __global__ void count_positive(const int* x, int* y, int cols) {
  int total = 0;
  for (int base = 0; base < cols; base += 128) {
    const int c = base + threadIdx.x;
    const int set = c < cols && x[blockIdx.x * cols + c] != 0;
    int any;
    asm volatile(
        "{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.cta.red.or.pred q, 5, 128, p;\n\tselp.s32 %0, 1, 0, q;\n\t}"
        : "=r"(any) : "r"(set) : "memory");
    if (any) total += __syncthreads_count(set);
    if (__syncthreads_and(c >= cols)) break;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
