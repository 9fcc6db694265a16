// A matrix times a vector.
__device__ real reference_y(const Inputs& in, long long index) {
  real sum = real(0.0);
  for (long long c = 0; c < in.cols; ++c) sum += in.a(index * in.cols + c) * in.x(c);
  return sum;
}
