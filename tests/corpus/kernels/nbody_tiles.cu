// Gravity of all pairs: bodies pass through shared memory tile by tile.
// cupilot: {"plan": {"launches": [{"entry": "gravity", "grid": ["cdiv(n, 64)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 100}, "in": {"x": ["fp32", "n", 4, {"kind": "uniform", "low": 0.1, "high": 1}]}, "out": {"y": ["fp32", "n", 3]}, "expect": {"y": "gravity"}}
extern "C" __global__ void gravity(const float4* x, float3* y, int n) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float4 me = i < n ? x[i] : float4{};
  float3 force = {};
  for (int base = 0; base < n; base += 64) {
    tile[threadIdx.x] = base + threadIdx.x < n ? x[base + threadIdx.x] : float4{};
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 64; ++j) {
      const float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-2f), pull = tile[j].w * r * r * r;
      force.x += dx * pull, force.y += dy * pull, force.z += dz * pull;
    }
    __syncthreads();
  }
  if (i < n) y[i] = force;
}
