// Each row divided by the root of the mean of its squares.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long row = index / in.cols * in.cols;
  real sum = real(0.0);
  for (long long c = 0; c < in.cols; ++c) sum = sum + in.x(row + c) * in.x(row + c);
  return in.x(index) / sqrt_(sum / real(in.cols) + real(1e-5));
}
