// A value that a thread makes ahead of its use.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include <cupilot/result.hpp>

#include "base/stop.hpp"

namespace cupilot {

// The thread's work is stopped when nobody wants the value any more.
template <class T>
class MadeAhead {
 public:
  explicit MadeAhead(std::function<Result<T>()> make)
      : make_(std::move(make)), made_(std::async(std::launch::async, [this] {
          const StopScope stopped({.cancel = &left_});
          return make_();
        })) {}
  MadeAhead(const MadeAhead&) = delete;
  MadeAhead& operator=(const MadeAhead&) = delete;
  ~MadeAhead() { left_ = true; }

  // Waits for the value; the caller makes it again where the thread failed. stopped_error() where
  // the caller's own work is stopped: the thread goes on.
  Result<T> get() const {
    constexpr std::chrono::milliseconds look(20);
    while (made_.wait_for(look) != std::future_status::ready) {
      if (stop_flags().wanted()) return stopped_error();
    }
    const Result<T>& made = made_.get();
    return made ? made : make_();
  }

 private:
  std::atomic<bool> left_ = false;
  std::function<Result<T>()> make_;
  std::shared_future<Result<T>> made_;  // ends first
};

}  // namespace cupilot
