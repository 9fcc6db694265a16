// Row id[t] of the table for each token t.
__device__ real reference_y(const Inputs& in, long long index) {
  return in.table(in.id(index / in.width) * in.width + index % in.width);
}
