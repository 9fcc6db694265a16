// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"launches": [{"entry": "copy", "grid": ["cdiv(n, 1024)"], "block": [256], "args": ["x", "y", {"i64": "n"}]}]}}
// 16 bytes a thread, streamed past L1; the last partial vector goes one by one.
extern "C" __global__ void copy(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = (blockIdx.x * 256ll + threadIdx.x) * 4;
  if (i + 4 <= n) {
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(x + i));
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y + i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
  } else {
    for (long long j = i; j < n; ++j) y[j] = x[j];
  }
}
