// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"require": ["cols <= 8192"], "launches": [{"entry": "softmax", "grid": ["rows"], "block": [64], "shared": "4 * cols", "args": ["x", "y", {"i32": "cols"}]}]}}
// The row waits in dynamic shared memory, as exponentials after the second pass.
extern __shared__ float row[];

extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float part[64];
  const int t = threadIdx.x;
  const long long base = (long long)blockIdx.x * cols;
  float largest = __int_as_float(0xff800000);
  for (int c = t; c < cols; c += 64) {
    row[c] = x[base + c];
    largest = fmaxf(largest, row[c]);
  }
  part[t] = largest;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  largest = part[0];
  __syncthreads();
  float sum = 0.0f;
  for (int c = t; c < cols; c += 64) {
    row[c] = expf(row[c] - largest);
    sum += row[c];
  }
  part[t] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  for (int c = t; c < cols; c += 64) y[base + c] = row[c] / part[0];
}
