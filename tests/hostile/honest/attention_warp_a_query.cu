// cupilot: {"task": ["tests/hostile/tasks/attention.json"]}
// cupilot: {"plan": {"require": ["keys <= 1024"], "launches": [{"entry": "attention", "grid": ["queries"], "block": [32], "shared": "4 * keys", "args": ["q", "k", "v", "y", "scale", {"i32": "keys"}]}]}}
// A warp a query: scores in dynamic shared memory, softmax over them, then a lane an output column and half the keys.
extern __shared__ float score[];

extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y, float scale, int keys) {
  const int lane = threadIdx.x;
  float largest = __int_as_float(0xff800000);
  for (int j = lane; j < keys; j += 32) {
    float sum = 0.0f;
    for (int w = 0; w < 16; ++w) sum += q[blockIdx.x * 16 + w] * k[j * 16 + w];
    score[j] = scale * sum;
    largest = fmaxf(largest, score[j]);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  }
  float weights = 0.0f;
  for (int j = lane; j < keys; j += 32) {
    score[j] = expf(score[j] - largest);
    weights += score[j];
  }
  for (int distance = 16; distance > 0; distance /= 2) weights += __shfl_xor_sync(0xffffffffu, weights, distance);
  __syncwarp();
  float sum = 0.0f;
  for (int j = lane / 16; j < keys; j += 2) sum += score[j] * v[j * 16 + lane % 16];
  sum += __shfl_down_sync(0xffffffffu, sum, 16);
  if (lane < 16) y[blockIdx.x * 16 + lane] = sum / weights;
}
