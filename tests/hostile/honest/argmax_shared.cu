// cupilot: {"task": ["tests/hostile/tasks/argmax.json"]}
// cupilot: {"plan": {"launches": [{"entry": "argmax", "grid": ["rows"], "block": [64], "args": ["x", "y", {"i32": "cols"}]}]}}
// A tree in shared memory over values and places.
extern "C" __global__ void argmax(const float* x, int* y, int cols) {
  __shared__ float value[64];
  __shared__ int place[64];
  const int t = threadIdx.x;
  value[t] = __int_as_float(0xff800000);
  place[t] = 0;
  for (int c = t; c < cols; c += 64) {
    const float one = x[(long long)blockIdx.x * cols + c];
    if (one > value[t]) {
      value[t] = one;
      place[t] = c;
    }
  }
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) {
      const float other = value[t + half];
      const int at = place[t + half];
      if (other > value[t] || (other == value[t] && at < place[t])) {
        value[t] = other;
        place[t] = at;
      }
    }
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = place[0];
}
