// GELU by the error function, rows of a pitched matrix, two rows a block.
// cupilot: {"plan": {"launches": [{"entry": "gelu", "grid": ["cdiv(rows, 2)"], "block": [64, 2], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// corpus: {"sizes": {"rows": 7, "cols": 150}, "in": {"x": ["fp32", "rows", "cols"]}, "out": {"y": ["fp32", "rows", "cols"]}, "expect": {"y": "gelu"}}
#include <math_constants.h>

extern "C" __global__ void gelu(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const float v = x[row * cols + c];
    y[row * cols + c] = 0.5f * v * (1.f + erff(v * CUDART_SQRT_HALF_F));
  }
}
