// A crew whose jobs hand back results.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <cupilot/parts/host.hpp>

namespace cupilot {

template <class Done>
class Workers {
 public:
  Workers(Host& host, int count) : crew_(host.crew(count)) {}

  // Returns the job's number: 0, 1, 2 …
  std::int64_t submit(std::function<Done()> job) {
    const std::int64_t number = next_++;
    crew_->submit([this, number, job = std::move(job)] {
      Done done = job();
      const std::lock_guard lock(mutex_);
      done_.emplace(number, std::move(done));
    });
    return number;
  }

  // Results that came since the last call; waits for one at most `seconds`.
  std::vector<Done> collect(double seconds) {
    std::vector<Done> taken;
    for (const std::int64_t number : crew_->ended(seconds)) {
      const std::lock_guard lock(mutex_);
      taken.push_back(std::move(done_.extract(number).mapped()));
    }
    return taken;
  }

 private:
  std::mutex mutex_;  // guards done_
  std::map<std::int64_t, Done> done_;
  std::int64_t next_ = 0;
  std::unique_ptr<ThreadPool> crew_;  // last: its jobs end first
};

}  // namespace cupilot
