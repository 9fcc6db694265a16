// One filter a channel, without flipping; only places where the whole filter fits.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long channel = index / in.n;
  const long long from = channel * (in.n + in.taps - 1) + index % in.n;
  real sum = real(0.0);
  for (long long t = 0; t < in.taps; ++t) sum += in.f(channel * in.taps + t) * in.x(from + t);
  return sum;
}
