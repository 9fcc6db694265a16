// The choice of an algorithm among those that a library offers.
#include "backend/worker/ready_step.hpp"

#include <optional>
#include <vector>

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("a proof takes the first algorithm that the library does not refuse") {
  struct Row {
    std::vector<int> offered, refused;
    std::optional<int> taken;
    std::vector<int> tried;
  };
  const std::vector<Row> rows = {{{7, 8}, {}, 7, {7}},
                                 {{7, 8, 9}, {7}, 8, {7, 8}},
                                 {{7, 8}, {7, 8}, std::nullopt, {7, 8}},
                                 {{}, {}, std::nullopt, {}}};
  for (const Row& row : rows) {
    std::vector<int> tried;
    const auto once = [&](int algorithm) {
      tried.push_back(algorithm);
      for (const int one : row.refused) {
        if (one == algorithm) throw OrderRefused{1, "not supported"};
      }
    };
    CHECK(first_taken(row.offered, once) == row.taken);
    CHECK(tried == row.tried);
  }
}

}  // namespace
}  // namespace cupilot
