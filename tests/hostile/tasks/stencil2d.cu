// Five points: the middle half, the four neighbours an eighth each; beyond the edge lies zero.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long i = index / in.w;
  const long long j = index % in.w;
  real near = real(0.0);
  if (i > 0) near += in.x(index - in.w);
  if (i + 1 < in.h) near += in.x(index + in.w);
  if (j > 0) near += in.x(index - 1);
  if (j + 1 < in.w) near += in.x(index + 1);
  return real(0.5) * in.x(index) + real(0.125) * near;
}
