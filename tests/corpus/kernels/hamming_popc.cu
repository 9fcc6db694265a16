// Hamming distances of all pairs of bit strings: xor, population count, 64 bits a time.
// cupilot: {"plan": {"launches": [{"entry": "hamming", "grid": ["cdiv(rows, 16)", "cdiv(rows, 16)"], "block": [16, 16], "args": ["x", "y", {"i32": "rows"}, {"i32": "words"}]}]}}
// corpus: {"sizes": {"rows": 25, "words": 6}, "in": {"x": ["u8", "rows", "words", 8, {"kind": "integers", "below": 256}]}, "out": {"y": ["i32", "rows", "rows"]}, "expect": {"y": "hamming"}, "tolerance": 0}
extern "C" __global__ void hamming(const unsigned long long* x, int* y, int rows, int words) {
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  if (i >= rows || j >= rows) return;
  int distance = 0;
  for (int w = 0; w < words; ++w) distance += __popcll(x[i * words + w] ^ x[j * words + w]);
  y[i * rows + j] = distance;
}
