// cupilot: {"task": ["tests/hostile/tasks/transpose.json"]}
// cupilot: {"plan": {"require": ["rows % 4 == 0", "cols % 4 == 0"], "launches": [{"entry": "transpose", "grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [8, 8], "args": ["x", "y", {"i32": "rows"}, {"i32": "cols"}]}]}}
// A square of 4 x 4 a thread: four 16-byte loads, turned in registers, four 16-byte stores.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x * 4, r = blockIdx.y * 32 + threadIdx.y * 4;
  if (c >= cols || r >= rows) return;
  float square[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4 v = *reinterpret_cast<const float4*>(x + (long long)(r + i) * cols + c);
    square[0][i] = v.x;
    square[1][i] = v.y;
    square[2][i] = v.z;
    square[3][i] = v.w;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(y + (long long)(c + i) * rows + r) =
        make_float4(square[i][0], square[i][1], square[i][2], square[i][3]);
  }
}
