// Logarithm of the softmax of a row, one element: x - largest - log(sum of exp(x - largest)).
__device__ real reference_y(const Inputs& in, long long index) {
  const long long row = index / in.cols * in.cols;
  real largest = in.x(row);
  for (long long c = 1; c < in.cols; ++c) largest = max_(largest, in.x(row + c));
  real sum = real(0.0);
  for (long long c = 0; c < in.cols; ++c) sum = sum + exp_(in.x(row + c) - largest);
  return in.x(index) - largest - log_(sum);
}
