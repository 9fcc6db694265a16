// Average pooling in three dimensions with padding counted, one thread an output on a three-dimensional block.
// cupilot: {"plan": {"let": {"od": "(d + 2 * pd - kd) / sd + 1", "oh": "(h + 2 * ph - kh) / sh + 1", "ow": "(w + 2 * pw - kw) / sw + 1"}, "launches": [{"entry": "avgpool", "grid": ["cdiv(ow, 8)", "cdiv(oh, 4)", "cdiv(od, 2) * n"], "block": [8, 4, 2], "args": ["x", "y", {"i32": "d"}, {"i32": "h"}, {"i32": "w"}, {"i32": "od"}, {"i32": "oh"}, {"i32": "ow"}, {"i32": "kd"}, {"i32": "sd"}, {"i32": "pd"}]}]}}
// corpus: {"sizes": {"n": 2, "d": 8, "h": 10, "w": 18, "kd": 3, "kh": 3, "kw": 3, "sd": 2, "sh": 2, "sw": 2}, "constants": {"pd": 1, "ph": 1, "pw": 1}}
// corpus: {"in": {"x": ["fp32", "n", "d", "h", "w"]}, "out": {"y": ["fp32", "n", "(d + 2 * pd - kd) / sd + 1", "(h + 2 * ph - kh) / sh + 1", "(w + 2 * pw - kw) / sw + 1"]}, "expect": {"y": "average_pool"}}
extern "C" __global__ void avgpool(const float* x, float* y, int d, int h, int w, int od, int oh, int ow, int k, int s, int p) {
  const int slabs = (od + 1) / 2, plane = blockIdx.z / slabs;
  const int ox = blockIdx.x * 8 + threadIdx.x, oy = blockIdx.y * 4 + threadIdx.y, oz = blockIdx.z % slabs * 2 + threadIdx.z;
  if (ox >= ow || oy >= oh || oz >= od) return;
  float sum = 0.f;
  for (int z = max(0, oz * s - p); z < min(d, oz * s - p + k); ++z) {
    for (int r = max(0, oy * s - p); r < min(h, oy * s - p + k); ++r) {
      for (int c = max(0, ox * s - p); c < min(w, ox * s - p + k); ++c) sum += x[((plane * d + z) * h + r) * w + c];
    }
  }
  y[((plane * od + oz) * oh + oy) * ow + ox] = sum / (k * k * k);
}
