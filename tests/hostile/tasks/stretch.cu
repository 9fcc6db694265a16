// The element under the middle of each of `to` equal parts of `from` elements.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long at = (2 * (index % in.to) + 1) * in.from / (2 * in.to);
  return in.x(index / in.to * in.from + at);
}
