// A few threads that do jobs and hand back their results.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cupilot {

template <class Done>
class Workers {
 public:
  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  // Jobs not begun are dropped; those begun are waited for.
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      jobs_.clear();
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void submit(std::function<Done()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

  // Results that came since the last call; waits for one at most `seconds`.
  std::vector<Done> collect(double seconds) {
    std::unique_lock lock(mutex_);
    done_wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !done_.empty(); });
    std::vector<Done> taken = std::move(done_);
    done_.clear();
    return taken;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::function<Done()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      Done done = job();
      lock.lock();
      done_.push_back(std::move(done));
      done_wake_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_wake_;
  std::deque<std::function<Done()>> jobs_;
  std::vector<Done> done_;
  std::vector<std::thread> threads_;
  bool closing_ = false;
};

}  // namespace cupilot
