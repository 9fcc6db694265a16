// Values made ahead: waited for, made again, given up.
#include "base/made_ahead.hpp"

#include <thread>

#include "catch.hpp"

using namespace cupilot;

namespace {

const Error busy{ErrorCode::failure, "too busy", "wait"};

// Ends when its work is stopped, at the latest after ten seconds.
bool waits_to_be_stopped() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!stop_flags().wanted()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

TEST_CASE("a value that failed ahead is made again by who wants it", "[threads]") {
  std::atomic<int> made = 0;
  const int failing = GENERATE(0, 1, 2);  // tries
  const MadeAhead<int> value([&]() -> Result<int> {
    const int number = ++made;
    if (number <= failing) return busy;
    return number;
  });
  const Result<int> first = value.get();
  REQUIRE(static_cast<bool>(first) == (failing < 2));
  if (first) CHECK(*first == failing + 1);
  if (failing < 2) return;
  CHECK(first.error().message == busy.message);
  const Result<int> second = value.get();
  REQUIRE(second);
  CHECK(*second == 3);
}

TEST_CASE("who is stopped waits no longer for a value, and leaving it stops its thread",
          "[threads]") {
  std::atomic<bool> stopped = false, over = false;
  {
    const MadeAhead<int> value([&]() -> Result<int> {
      stopped = waits_to_be_stopped();
      over = true;
      return 1;
    });
    const std::atomic<bool> cancel = true;
    const StopScope scope({.cancel = &cancel});
    const Result<int> none = value.get();
    REQUIRE_FALSE(none);
    CHECK(none.error().message == stopped_error().message);
    CHECK_FALSE(over);
  }
  CHECK(stopped);
}
