// One Adam step in place on parameters and both moments, vectors of four.
// cupilot: {"plan": {"launches": [{"entry": "adam", "grid": ["cdiv(n, 512)"], "block": [128], "args": ["p", "m", "v", "g", {"i32": "n"}]}]}}
// corpus: {"sizes": {"n": 1000}, "in": {"g": ["fp32", "n"]}, "in_out": {"p": ["fp32", "n"], "m": ["fp32", "n"], "v": ["fp32", "n", {"kind": "uniform", "low": 0.1, "high": 1}]}, "expect": {"p": "adam_parameter", "m": "adam_first", "v": "adam_second"}}
extern "C" __global__ void adam(float4* p, float4* m, float4* v, const float4* g, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (4 * i >= n) return;
  float4 pi = p[i], mi = m[i], vi = v[i];
  const float4 gi = g[i];
  const auto step = [](float& param, float& first, float& second, float grad) {
    first = 0.9f * first + 0.1f * grad;
    second = 0.999f * second + 0.001f * grad * grad;
    param -= 1e-3f * first / (sqrtf(second) + 1e-8f);
  };
  step(pi.x, mi.x, vi.x, gi.x), step(pi.y, mi.y, vi.y, gi.y), step(pi.z, mi.z, vi.z, gi.z), step(pi.w, mi.w, vi.w, gi.w);
  p[i] = pi, m[i] = mi, v[i] = vi;
}
