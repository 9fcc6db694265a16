// Each row divided by its root mean square, scaled a column.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long row = index / in.cols * in.cols;
  real squares = real(0.0);
  for (long long c = 0; c < in.cols; ++c) squares += in.x(row + c) * in.x(row + c);
  const real root = sqrt_(squares / real(static_cast<double>(in.cols)) + in.epsilon);
  return in.x(index) / root * in.gain(index - row);
}
