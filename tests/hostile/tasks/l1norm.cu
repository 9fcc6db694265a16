__device__ real reference_y(const Inputs& in, long long index) {
  const long long row = index / in.cols;
  real sum = real(0.0);
  for (long long c = 0; c < in.cols; ++c) sum += abs_(in.x(row * in.cols + c));
  return in.x(index) / sum;
}
