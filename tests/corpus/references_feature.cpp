#include "problem.hpp"

namespace cupilot::coverage {

const References& feature_references() {
  static const References table = {};
  return table;
}

}  // namespace cupilot::coverage
