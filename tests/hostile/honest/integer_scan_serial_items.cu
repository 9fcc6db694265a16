// cupilot: {"task": ["tests/hostile/tasks/integer_scan.json"]}
// cupilot: {"plan": {"launches": [{"entry": "scan", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// Four neighbours a thread are added in registers, the warp scans their sums.
extern "C" __global__ void scan(const int* x, int* y, int cols) {
  const int lane = threadIdx.x;
  const long long base = (long long)blockIdx.x * cols;
  int before = 0;
  for (int from = 0; from < cols; from += 128) {
    int item[4];
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int c = from + lane * 4 + i;
      sum += c < cols ? x[base + c] : 0;
      item[i] = sum;
    }
    int prefix = sum;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int left = __shfl_up_sync(0xffffffffu, prefix, distance);
      if (lane >= distance) prefix += left;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int c = from + lane * 4 + i;
      if (c < cols) y[base + c] = before + prefix - sum + item[i];
    }
    before += __shfl_sync(0xffffffffu, prefix, 31);
  }
}
