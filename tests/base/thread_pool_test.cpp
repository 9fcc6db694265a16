#include <cupilot/parts/host.hpp>

#include "base/guard.hpp"
#include "catch.hpp"
#include "support/sanitized.hpp"
#include "support/threads_begun.hpp"

using namespace cupilot;

TEST_CASE("a crew that the machine gives too few threads is an error, not the end of the process",
          "[threads]") {
  if (testing::sanitized()) return;  // it has a pthread_create of its own
  for (const long given : {0, 1, 3}) {
    INFO(given);
    const auto made = guarded([&]() -> Result<std::unique_ptr<ThreadPool>> {
      const testing::ThreadLimit limit(given);
      return real_host().crew(4);
    });
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::failure);
    CHECK(made.error().message.find("no more threads") == 0);
    CHECK(made.error().hint.find("ulimit -u") != std::string::npos);
  }
  CHECK(real_host().crew(4) != nullptr);
}
