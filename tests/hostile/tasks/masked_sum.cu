// The sum of those elements of each row that the mask keeps.
__device__ real reference_y(const Inputs& in, long long index) {
  real sum = real(0.0);
  for (long long c = 0; c < in.cols; ++c) {
    if (in.keep(index * in.cols + c) != 0) sum += in.x(index * in.cols + c);
  }
  return sum;
}
