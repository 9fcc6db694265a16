// A sparse matrix, `width` entries a row, times a vector; a column may stand twice.
__device__ real reference_y(const Inputs& in, long long index) {
  real sum = real(0.0);
  for (long long e = index * in.width; e < (index + 1) * in.width; ++e) sum += in.value(e) * in.x(in.column(e));
  return sum;
}
