/* cupilot tunable 1
{
  "name": "scale_rows",
  "family": "scale",
  "summary": "a block takes some rows of a strip of columns; a thread loads its weights once",
  "parameters": {
    "THREADS": {"domain": [32, 64, 128, 256, 512], "plain": 128},
    "ROWS": {"domain": [1, 2, 4, 8, 16, 32]},
    "COLS": {"domain": [1, 2, 4]}
  },
  "restrict": ["ROWS * COLS <= 64"],
  "plan": {
    "launches": [
      {"entry": "weigh_columns", "grid": ["cdiv(cols, THREADS * COLS)", "cdiv(rows, ROWS)"], "block": ["THREADS"],
       "args": ["x", "w", "y", {"i64": "rows"}, {"i64": "cols"}]}
    ]
  }
}
*/
// y[r][c] = x[r][c] w[c]. The parameters above are constants here; T_x is the type of tensor x.
extern "C" __global__ void __launch_bounds__(THREADS)
    weigh_columns(const T_x* x, const T_w* w, T_y* y, long long rows, long long cols) {
  const long long first = static_cast<long long>(blockIdx.y) * ROWS;
#pragma unroll
  for (int i = 0; i < COLS; ++i) {
    const long long c = (static_cast<long long>(blockIdx.x) * COLS + i) * THREADS + threadIdx.x;
    if (c >= cols) return;
    const float weight = to_float(w[c]);
#pragma unroll
    for (int j = 0; j < ROWS; ++j) {
      const long long r = first + j;
      if (r < rows) y[r * cols + c] = from_float<T_y>(to_float(x[r * cols + c]) * weight);
    }
  }
}
