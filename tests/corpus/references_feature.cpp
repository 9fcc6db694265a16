// What kernels that stand for one feature of the machine compute.
#include <algorithm>
#include <cmath>

#include "problem.hpp"

namespace cupilot::coverage {
namespace {

// Of every four tiles of 256 elements each goes to the next place, the last to the first.
Values rotated_by_blocks(const Problem& p) {
  Values y = p.in("x");
  for (auto tile = y.begin(); tile != y.end(); tile += 1024) std::rotate(tile, tile + 768, tile + 1024);
  return y;
}

}  // namespace

const References& feature_references() {
  static const References table = {
      {"rotated_by_blocks", rotated_by_blocks},
  };
  return table;
}

}  // namespace cupilot::coverage
