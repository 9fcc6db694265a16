// Each row with its mean taken away, divided by its deviation, scaled and shifted a column.
__device__ real reference_y(const Inputs& in, long long index) {
  const long long row = index / in.cols * in.cols;
  const real count = real(static_cast<double>(in.cols));
  real mean = real(0.0);
  for (long long c = 0; c < in.cols; ++c) mean += in.x(row + c);
  mean /= count;
  real squares = real(0.0);
  for (long long c = 0; c < in.cols; ++c) squares += (in.x(row + c) - mean) * (in.x(row + c) - mean);
  const real deviation = sqrt_(squares / count + in.epsilon);
  return (in.x(index) - mean) / deviation * in.gain(index - row) + in.shift(index - row);
}
