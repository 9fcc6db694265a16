// The variance of each row: the mean square of what the mean leaves.
__device__ real reference_y(const Inputs& in, long long index) {
  real mean = real(0.0);
  for (long long c = 0; c < in.cols; ++c) mean += in.x(index * in.cols + c);
  mean /= real(static_cast<double>(in.cols));
  real squares = real(0.0);
  for (long long c = 0; c < in.cols; ++c) {
    const real rest = in.x(index * in.cols + c) - mean;
    squares += rest * rest;
  }
  return squares / real(static_cast<double>(in.cols));
}
