// How much of a search's time reading hardware counters may take. Any thread.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>

namespace cupilot {

class CountBudget {
 public:
  // Of the seconds that have passed: while it searches, and with the champion's full set. What a
  // count takes beyond what it was expected to leaves the whole below 15 %.
  static constexpr double while_searching = 0.08, at_the_end = 0.12;

  // Whether a count that costs `times` as much as the dearest so far fits. The first always does:
  // nobody knows what it costs.
  bool grant(double elapsed, double share, double times = 1) {
    const std::lock_guard lock(mutex_);
    if (granted_ && spent_ + (under_way_ + times) * dearest_ > share * elapsed) return false;
    granted_ = true;
    ++under_way_;
    return true;
  }
  // What a candidate spent on counting, whether it was granted a count or waited for the process
  // that counts.
  void settle(double seconds, bool granted) {
    const std::lock_guard lock(mutex_);
    spent_ += seconds;
    if (!granted) return;
    --under_way_;
    dearest_ = std::max(dearest_, seconds);
  }
  // The device counts for nobody. Every later kernel's digest says so; nothing is spent on asking
  // again.
  void lose(const std::string& why) {
    const std::lock_guard lock(mutex_);
    lost_ = why;
  }
  std::string lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  mutable std::mutex mutex_;
  std::string lost_;
  double spent_ = 0, dearest_ = 0;
  int under_way_ = 0;
  bool granted_ = false;
};

}  // namespace cupilot
