#include <thread>

#include "base/stop.hpp"
#include "catch.hpp"

using namespace cupilot;

TEST_CASE("work is stopped by either of its flags", "[threads]") {
  std::atomic<bool> cancel{false}, over{false};
  struct Row {
    bool cancels, is_over, wanted;
  };
  for (const Row& row :
       {Row{false, false, false}, Row{true, false, true}, Row{false, true, true}}) {
    cancel = row.cancels;
    over = row.is_over;
    CHECK(StopFlags{&cancel, &over}.wanted() == row.wanted);
    CHECK(StopFlags{&cancel}.wanted() == row.cancels);
    CHECK_FALSE(StopFlags{}.wanted());
  }
}

TEST_CASE("the flags of a thread's work end with their scope and are no other thread's",
          "[threads]") {
  const std::atomic<bool> outer{true}, inner{false};
  CHECK_FALSE(stop_flags().wanted());
  {
    const StopScope all({&outer});
    CHECK(stop_flags().cancel == &outer);
    {
      const StopScope part({&inner});
      CHECK(stop_flags().cancel == &inner);
      CHECK_FALSE(stop_flags().wanted());
    }
    CHECK(stop_flags().wanted());
    StopFlags others, taken;
    std::thread([&, mine = stop_flags()] {
      others = stop_flags();
      const StopScope helping(mine);
      taken = stop_flags();
    }).join();
    CHECK(others.cancel == nullptr);
    CHECK(taken.cancel == &outer);
  }
  CHECK(stop_flags().cancel == nullptr);
}
