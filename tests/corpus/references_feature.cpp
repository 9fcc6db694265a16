// What kernels that stand for one feature of the machine compute.
#include <algorithm>
#include <cmath>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

// Of every four tiles of 256 elements each goes to the next place, the last to the first.
Values rotated_by_blocks(const Problem& p) {
  Values y = p.in("x");
  for (auto tile = y.begin(); tile != y.end(); tile += 1024)
    std::rotate(tile, tile + 768, tile + 1024);
  return y;
}

Values histogram(const Problem& p) {
  Values y(static_cast<std::size_t>(p.size("bins")), 0);
  for (const double v : p.in("x")) y.at(static_cast<std::size_t>(v)) += 1;
  return y;
}

Values transposed(const Problem& p) {
  const auto rows = static_cast<std::size_t>(p.size("rows")),
             cols = static_cast<std::size_t>(p.size("cols"));
  Values y(rows * cols);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = p.in("x")[i % rows * cols + i / rows];
  return y;
}

// How many positive elements stand before each positive one in its row; -1 for the others.
Values places_of_positives(const Problem& p) {
  Values y = p.in("x");
  const auto cols = static_cast<std::size_t>(p.size("mid"));
  double place = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % cols == 0) place = 0;
    y[i] = y[i] > 0 ? place++ : -1;
  }
  return y;
}

}  // namespace

const References& feature_references() {
  static const References table = {
      {"histogram", histogram},
      {"places_of_positives", places_of_positives},
      {"transposed", transposed},
      {"rotated_by_blocks", rotated_by_blocks},
  };
  return table;
}

}  // namespace cupilot::coverage
