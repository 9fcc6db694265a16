// Rows of deviation 1 around a mean, normalised in double precision on the host: what layer norms
// are compared with.
#pragma once
#include <cmath>
#include <cstdio>
#include <vector>
#include "guard.h"

namespace faults {

struct Normed {
  std::vector<float> x;
  std::vector<double> y;
};

inline Normed normed(int rows, int columns, double mean) {
  Normed out{std::vector<float>(rows * columns), std::vector<double>(rows * columns)};
  for (auto& v : out.x) {  // the sum of 12 has deviation 1
    double s = 0;
    for (int i = 0; i < 12; ++i) s += draw() / 65536.0;
    v = float(mean + s - 6);
  }
  for (int row = 0; row < rows; ++row) {
    const float* x = &out.x[row * columns];
    double m = 0, s = 0;
    for (int c = 0; c < columns; ++c) m += x[c] / double(columns);
    for (int c = 0; c < columns; ++c) s += (x[c] - m) * (x[c] - m) / columns;
    for (int c = 0; c < columns; ++c) out.y[row * columns + c] = (x[c] - m) / std::sqrt(s + 1e-5);
  }
  return out;
}

// Compares within half a deviation, far above what a mean rounded to fp32 costs (0.0625 at 1e6).
inline void say_normed(const char* name, const float* on_device, const Normed& want, double mean) {
  std::vector<float> y(want.y.size());
  cudaMemcpy(y.data(), on_device, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  size_t nan = 0;
  for (const float v : y) nan += std::isnan(v);
  say(name, compare(y, want.y, 0.5), y.size());
  printf("RESULT   %zu are NaN, at a mean of %g\n", nan, mean);
}

}  // namespace faults
