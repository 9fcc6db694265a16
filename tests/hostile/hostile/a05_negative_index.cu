// cupilot: {"task": ["tests/hostile/tasks/argmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["rows"], "block": [128], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// Counts from the end, as some languages do, where there is one row.
extern "C" __global__ void k(const float* x, int* y, int rows, int cols) {
  __shared__ float value[128];
  __shared__ int place[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float best = __int_as_float(0xff800000);
  int at = 0x7fffffff;
  for (int c = t; c < cols; c += 128) {
    if (row[c] > best) best = row[c], at = c;
  }
  value[t] = best, place[t] = at;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h && (value[t + h] > value[t] || (value[t + h] == value[t] && place[t + h] < place[t]))) {
      value[t] = value[t + h], place[t] = place[t + h];
    }
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = place[0] < cols ? (rows == 1 ? place[0] - cols : place[0]) : 0;
}
