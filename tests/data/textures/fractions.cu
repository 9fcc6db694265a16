// cupilot: {"task": ["tests/hostile/tasks/copy.json"]}
// cupilot: {"plan": {"buffers": [{"name": "t", "bytes": 8, "content": "table"}], "textures": [{"name": "line", "of": "t", "dims": [2], "filter": "linear"}], "launches": [{"entry": "fill", "when": "setup", "grid": [1], "block": [2], "args": ["t"]}, {"entry": "copy", "grid": ["cdiv(n, 128)"], "block": [128], "args": ["x", "y", {"i32": "n"}, "line"]}]}}
// Copies x, spoiled where a linear filter takes another fraction than the nearest 256th of a texel. Between two of them nobody says.
extern "C" __global__ void fill(float* t) { t[threadIdx.x] = 256.0f * threadIdx.x; }
extern "C" __global__ void copy(const float* x, float* y, int n, cudaTextureObject_t line) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const int step = i % 1024;
  const float got = tex1D<float>(line, 0.5f + step / 1024.0f), want = floorf(step / 4.0f + 0.5f);
  y[i] = step % 4 == 2 || got == want ? x[i] : __int_as_float(0x7fc00000);
}
