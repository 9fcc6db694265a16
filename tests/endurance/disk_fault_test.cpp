// One call that changes the disk fails, whichever it is and however it fails.
#include "catch.hpp"
#include "endurance/short_run.hpp"
#include "support/sanitized.hpp"

using namespace cupilot;
using namespace cupilot::testing;

TEST_CASE("a disk that fails at any call ends a run cleanly, and nothing is lost") {
  ShortRun whole(9);
  REQUIRE(whole.go_on());
  const std::string expected = whole.essence();
  struct Row {
    const char* name;
    DiskFault fault;
    bool stays;
  };
  const Row rows[] = {{"ENOSPC, once", DiskFault::full, false},
                      {"ENOSPC, from then on", DiskFault::full, true},
                      {"EDQUOT", DiskFault::quota, false},
                      {"EIO", DiskFault::io, false},
                      {"a short write", DiskFault::short_write, false},
                      {"a failing fsync", DiskFault::failing_sync, false}};
  for (const Row& row : rows) {
    int struck = 0;
    const int stride = sanitized() ? 9 : 1;  // odd: writes and syncs alternate
    for (int call = 0;; call += stride) {
      INFO(row.name << " at call " << call);
      ShortRun run(9);
      run.host.fail_call(call, row.fault);
      run.host.stay_full(row.stays);
      const auto report = run.go_on();
      if (run.host.struck().empty()) {
        CHECK(report);
        break;
      }
      ++struck;
      REQUIRE_FALSE(report);
      CHECK(report.error().message.find(run.host.struck()) != std::string::npos);
      CHECK(is_valid(run.journal()));
      run.host.start();
      REQUIRE(run.go_on());
      CHECK(run.essence() == expected);
    }
    CHECK(struck > 20 / stride);
  }
}
