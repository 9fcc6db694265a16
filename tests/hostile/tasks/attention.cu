// Softmax of scaled scores, times the values. Every element computes its row's scores anew.
__device__ real score(const Inputs& in, long long query, long long key) {
  real sum = real(0.0);
  for (long long w = 0; w < in.width; ++w) sum += in.q(query * in.width + w) * in.k(key * in.width + w);
  return in.scale * sum;
}

__device__ real reference_y(const Inputs& in, long long index) {
  const long long query = index / in.width;
  real largest = score(in, query, 0);
  for (long long j = 1; j < in.keys; ++j) largest = max_(largest, score(in, query, j));
  real weights = real(0.0);
  real sum = real(0.0);
  for (long long j = 0; j < in.keys; ++j) {
    const real weight = exp_(score(in, query, j) - largest);
    weights += weight;
    sum += weight * in.v(j * in.width + index % in.width);
  }
  return sum / weights;
}
