// Dropout with the counter-based generator Philox 4x32-10: four decisions a call, a quarter dropped.
// cupilot: {"plan": {"launches": [{"entry": "dropout", "grid": ["cdiv(n, 256)"], "block": [64], "args": ["x", "y", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1024}, "in": {"x": ["fp32", "n"]}, "out": {"y": ["fp32", "n"]}, "expect": {"y": "dropout_philox"}}
__device__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned h0 = __umulhi(0xD2511F53u, counter.x), l0 = 0xD2511F53u * counter.x;
    const unsigned h1 = __umulhi(0xCD9E8D57u, counter.z), l1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(h1 ^ counter.y ^ key.x, l1, h0 ^ counter.w ^ key.y, l0);
    key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
  }
  return counter;
}

extern "C" __global__ void dropout(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (4 * i >= n) return;
  const uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2(1234u, 5678u));
  const float4 v = x[i];
  const auto keep = [](unsigned bits, float f) { return bits >= 0x40000000u ? f / 0.75f : 0.f; };
  y[i] = make_float4(keep(r.x, v.x), keep(r.y, v.y), keep(r.z, v.z), keep(r.w, v.w));
}
