#include "cli/screens/ticker.hpp"

#include <vector>

#include "catch.hpp"

using namespace cupilot::cli;

TEST_CASE("a ticker tells again and again while it lives, and ends at once", "[cli]") {
  std::vector<double> told;
  {
    const Ticker ticker(std::chrono::milliseconds(20), [&](double s) { told.push_back(s); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  REQUIRE(told.size() >= 2);
  CHECK(told.front() >= 0.02);
  CHECK(told[1] > told[0]);
  const auto began = std::chrono::steady_clock::now();
  {
    const Ticker ticker(std::chrono::hours(1), [&](double s) { told.push_back(-s); });
  }
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(1));
  CHECK(told.back() > 0);
}
