// cupilot: {"task": ["tests/hostile/tasks/twin_rows_reversed.json"]}
// cupilot: {"plan": {"launches": [{"entry": "k", "grid": ["cdiv(cols, 16)", "rows"], "block": [8], "args": ["y", {"i32": "cols"}]}]}}
// A thread exchanges two elements of a row of bf16.
extern "C" __global__ void k(short* y, int cols) {
  const int c = blockIdx.x * 8 + threadIdx.x;
  if (c >= cols / 2) return;
  short* row = y + blockIdx.y * cols;
  const short a = row[c], b = row[cols - 1 - c];
  row[c] = b;
  row[cols - 1 - c] = a;
}
