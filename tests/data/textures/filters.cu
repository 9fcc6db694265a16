// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"buffers": [{"name": "t", "bytes": 512, "content": "table"}, {"name": "s", "bytes": 128, "content": "table"}], "textures": [{"name": "clamp", "of": "t", "dims": [16, 8], "filter": "linear"}, {"name": "border", "of": "t", "dims": [16, 8], "filter": "linear", "address": "border"}, {"name": "wrap", "of": "t", "dims": [16, 8], "filter": "linear", "address": "wrap", "normalized": true}, {"name": "mirror", "of": "t", "dims": [16, 8], "filter": "linear", "address": "mirror", "normalized": true}, {"name": "pitched", "of": "t", "memory": "pitch2d", "dims": [12, 8], "pitch": 64, "filter": "linear"}, {"name": "room", "of": "t", "dims": [8, 4, 4], "filter": "linear"}, {"name": "layers", "of": "t", "dims": [8, 4, 4], "layered": true, "filter": "linear"}, {"name": "bytes", "of": "s", "dims": [16, 2], "type": "u8", "channels": 4, "read": "fraction"}, {"name": "shorts", "of": "s", "dims": [64], "type": "s16", "memory": "linear"}], "launches": [{"entry": "fill", "when": "setup", "grid": [1], "block": [128], "args": ["t", "s"]}, {"entry": "copy", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}, "t", "s", "clamp", "border", "wrap", "mirror", "pitched", "room", "layers", "bytes", "shorts"]}]}}
// Copies x, spoiled where a filter, an address mode or a format of textures is not what is worked out
// from the texels beside it.
extern "C" __global__ void fill(float* t, unsigned* s) {
  const int i = threadIdx.x;
  t[i] = (float)((i * 37 + 11) % 64 - 20);
  if (i < 32) s[i] = i * 0x09234567u + 0x80ff017fu;
}
enum { CLAMP, BORDER, WRAP, MIRROR };
__device__ int folded(int i, int n, int mode) {
  if (mode == CLAMP) return min(max(i, 0), n - 1);
  if (mode == BORDER) return i < 0 || i >= n ? -1 : i;
  const int period = mode == WRAP ? n : 2 * n, at = (i % period + period) % period;
  return at < n ? at : 2 * n - 1 - at;
}
__device__ float texel(const float* t, int w, int h, int pitch, int i, int j, int mode) {
  i = folded(i, w, mode), j = folded(j, h, mode);
  return i < 0 || j < 0 ? 0 : t[j * pitch + i];
}
// By fractions of 8 bits, and weights of whole 256ths that add up to `all`.
__device__ float between(const float* t, int w, int h, int pitch, float x, float y, int mode, int all = 256) {
  const int p = (int)floorf((x - 0.5f) * 256 + 0.5f), q = (int)floorf((y - 0.5f) * 256 + 0.5f), i = p >> 8, j = q >> 8;
  const int u = p & 255, v = q & 255, second = (all * u + 128) >> 8, first = all - second;
  const int below_second = (second * v + 128) >> 8, below_first = (first * v + 127) >> 8;
  return ((first - below_first) * texel(t, w, h, pitch, i, j, mode) + (second - below_second) * texel(t, w, h, pitch, i + 1, j, mode) +
          below_first * texel(t, w, h, pitch, i, j + 1, mode) + below_second * texel(t, w, h, pitch, i + 1, j + 1, mode)) / 256;
}
__device__ int off(float got, float want) { return fabsf(got - want) > 1e-4f; }
extern "C" __global__ void copy(const float* x, float* y, int n, const float* t, const unsigned* s, cudaTextureObject_t clamped, cudaTextureObject_t border, cudaTextureObject_t wrap, cudaTextureObject_t mirror, cudaTextureObject_t pitched, cudaTextureObject_t room, cudaTextureObject_t layers, cudaTextureObject_t bytes, cudaTextureObject_t shorts) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  // Steps of 1/64 of a texel, from before the first to past the last.
  const float px = (i * 29 % 2048) / 64.0f - 8, py = (i * 53 % 1024) / 64.0f - 4;
  const float nx = px / 16, ny = py / 8;
  int wrong = 0;
  wrong += off(tex2D<float>(clamped, px, py), between(t, 16, 8, 16, px, py, CLAMP));
  wrong += off(tex2D<float>(border, px, py), between(t, 16, 8, 16, px, py, BORDER));
  wrong += off(tex2D<float>(wrap, nx, ny), between(t, 16, 8, 16, px, py, WRAP));
  wrong += off(tex2D<float>(mirror, nx, ny), between(t, 16, 8, 16, px, py, MIRROR));
  wrong += off(tex2D<float>(pitched, px, py), between(t, 12, 8, 16, px, py, CLAMP));
  const int layer = i % 4;
  wrong += off(tex2DLayered<float>(layers, px, py, layer), between(t + 32 * layer, 8, 4, 8, px, py, CLAMP));
  // At a slice's middle a room is a plane; halfway to the next two planes of half the weight.
  wrong += off(tex3D<float>(room, px, py, layer + 0.5f), between(t + 32 * layer, 8, 4, 8, px, py, CLAMP));
  const int next = min(layer + 1, 3), weight = layer < 3 ? 128 : 256;  // the last slice's middle is the end
  wrong += off(tex3D<float>(room, px, py, layer + 1.0f), between(t + 32 * layer, 8, 4, 8, px, py, CLAMP, weight) + between(t + 32 * next, 8, 4, 8, px, py, CLAMP, 256 - weight));
  const uchar4 raw = ((const uchar4*)s)[i % 32];
  const float4 part = tex2D<float4>(bytes, i % 16 + 0.5f, i / 16 % 2 + 0.5f);
  wrong += fabsf(part.x - raw.x / 255.0f) > 1e-6f || fabsf(part.y - raw.y / 255.0f) > 1e-6f || fabsf(part.z - raw.z / 255.0f) > 1e-6f || fabsf(part.w - raw.w / 255.0f) > 1e-6f;
  wrong += tex1Dfetch<short>(shorts, i % 64) != ((const short*)s)[i % 64];
  wrong += tex1Dfetch<short>(shorts, 64 + i) != 0;
  y[i] = wrong == 0 ? x[i] : __int_as_float(0x7fc00000);
}
