// The first column at which a row is largest. A NaN is never larger; of a row without a larger element the first is named.
__device__ real reference_y(const Inputs& in, long long index) {
  real largest = real(-1e300);
  long long at = 0;
  for (long long c = 0; c < in.cols; ++c) {
    const real value = in.x(index * in.cols + c);
    if (value > largest) {
      largest = value;
      at = c;
    }
  }
  return real(static_cast<double>(at));
}
