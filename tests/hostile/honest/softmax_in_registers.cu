// cupilot: {"task": ["tests/hostile/tasks/softmax.json"]}
// cupilot: {"plan": {"require": ["cols <= 512"], "launches": [{"entry": "softmax", "grid": ["rows"], "block": [32], "args": ["x", "y", {"i32": "cols"}]}]}}
// A warp a row that is held in registers: read once, written once. Columns past the row count as minus infinity.
extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  const long long base = (long long)blockIdx.x * cols;
  const int lane = threadIdx.x;
  float value[16];
  float largest = __int_as_float(0xff800000);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int c = i * 32 + lane;
    value[i] = c < cols ? x[base + c] : __int_as_float(0xff800000);
    largest = fmaxf(largest, value[i]);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    value[i] = expf(value[i] - largest);
    sum += i * 32 + lane < cols ? value[i] : 0.0f;
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    if (i * 32 + lane < cols) y[base + i * 32 + lane] = value[i] / sum;
  }
}
