// 3 x 3 filters over all input planes; the inputs carry their own border.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long output = index / (in.h * in.w);
  const long long i = index / in.w % in.h;
  const long long j = index % in.w;
  real sum = real(0.0);
  for (long long c = 0; c < in.inputs; ++c) {
    for (long long t = 0; t < 9; ++t) {
      const long long at = (c * (in.h + 2) + i + t / 3) * (in.w + 2) + j + t % 3;
      sum += in.f((output * in.inputs + c) * 9 + t) * in.x(at);
    }
  }
  return sum;
}
