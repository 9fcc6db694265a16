// cupilot: {"task": ["tests/hostile/tasks/twin_double_many_2.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["x", "y", {"i32": "n"}]}]}}
// Four elements a thread by one vector where they are whole.
extern "C" __global__ void k(const float* x, float* y, int n) {
  const int i = (blockIdx.x * 128 + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *(const float4*)(x + i);
    v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
    *(float4*)(y + i) = v;
  } else {
    for (int j = i; j < n; ++j) y[j] = 2 * x[j];
  }
}
