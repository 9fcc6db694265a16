// Calls a function now and then while something takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cupilot::cli {

// Calls `tell` with the seconds since it began, each `every` until it is destroyed, on a thread of
// its own.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds every, std::function<void(double seconds)> tell)
      : thread_([this, every, tell = std::move(tell)] { run(every, tell); }) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void run(std::chrono::milliseconds every, const std::function<void(double)>& tell) {
    const auto began = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (int times = 1; !wake_.wait_until(lock, began + times * every, [this] { return over_; });
         ++times)
      tell(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace cupilot::cli
