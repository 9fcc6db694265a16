// The first element of each of `to` equal parts of `from` elements.
__device__ real reference_y(const Inputs& in, long long index) {
  return in.x(index / in.to * in.from + index % in.to * in.from / in.to);
}
