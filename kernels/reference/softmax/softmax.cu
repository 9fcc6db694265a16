// Softmax of a row, one element: the largest of the row is taken away first, so that no exponential
// overflows.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long row = index / in.cols * in.cols;
  real largest = in.x(row);
  for (long long c = 1; c < in.cols; ++c) largest = max_(largest, in.x(row + c));
  real sum = real(0.0);
  for (long long c = 0; c < in.cols; ++c) sum = sum + exp_(in.x(row + c) - largest);
  return exp_(in.x(index) - largest) / sum;
}
