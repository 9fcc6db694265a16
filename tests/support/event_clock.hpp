// A clock for threads that wait: it moves to the next moment at which one of them goes on, once
// nothing else has happened for a while of real time and no thread of the process computes.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include "support/virtual_clock.hpp"

namespace cupilot::testing {

class EventClock : public VirtualClock {
 public:
  double monotonic_seconds() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  // Waits until the clock has moved on by so much.
  void spend(double seconds) {
    std::unique_lock lock(mutex_);
    const auto wake = wakes_.insert(now_ + seconds);
    ++changes_;
    while (now_ < *wake) {
      const int seen = changes_;
      changed_.wait_for(lock, std::chrono::milliseconds(quiet_ms));
      if (now_ < *wake && changes_ == seen && wakes_.begin() == wake && others_sleep()) {
        now_ = *wake;
        ++changes_;
      }
    }
    wakes_.erase(wake);
    ++changes_;
    changed_.notify_all();
  }

 private:
  // True if each other thread of this process waits for something: none runs or is about to.
  static bool others_sleep() {
    const std::string own = std::to_string(gettid());
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::all_of(begin(threads), end(threads), [&](const auto& thread) {
      if (thread.path().filename() == own) return true;
      std::ifstream file(thread.path() / "stat");
      std::string stat;
      std::getline(file, stat);
      const auto name_end = stat.rfind(") ");
      return name_end == std::string::npos || stat[name_end + 2] == 'S';
    });
  }

  static constexpr int quiet_ms = 15;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<double> wakes_;
  double now_ = 0;
  int changes_ = 0;
};

}  // namespace cupilot::testing
