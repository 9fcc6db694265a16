// Joins times of resources that overlap almost wholly by a norm: the larger its power, the nearer
// to their maximum.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace cupilot {

inline double joined(std::initializer_list<double> parts, double power) {
  const double largest = std::max(parts);
  if (largest <= 0) return 0;
  double sum = 0;
  for (const double part : parts) sum += std::pow(std::max(part, 0.0) / largest, power);
  return largest * std::pow(sum, 1 / power);
}

}  // namespace cupilot
