// Places on a device for the candidates of a search, and candidates that are given up when the
// time for them is over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "base/phases.hpp"

namespace cupilot {

// A place, until it goes out of scope.
using HeldPlace = std::shared_ptr<void>;

class DevicePlaces {
 public:
  // Purposes of a place: a proof; a time, which goes first, since the proof is lost otherwise; the
  // needs of the best, which is let in whatever the time.
  enum class For { proof, time, best };

  // `is_over`: whether the run has no time left for such a purpose that did not begin. Any thread
  // asks it.
  DevicePlaces(int count, std::function<bool(For)> is_over)
      : free_(count), is_over_(std::move(is_over)) {}

  // Waits for a place. Of proofs that wait, the one of the lowest slot goes first: the search
  // proposed in that order. Null: the time is over.
  HeldPlace take(For what, std::int64_t slot = 0) {
    const Phase phase(waiting_for_device, PhaseCpu::of_phase_around);
    std::unique_lock lock(mutex_);
    const auto over = [&] { return what != For::best && is_over_(what); };
    const bool first = what != For::proof;
    waiting_first_ += first ? 1 : 0;
    const auto own = first ? waiting_.end() : waiting_.insert(slot);
    const auto waits = [&] {
      return free_ == 0 || (!first && (waiting_first_ > 0 || *waiting_.begin() < slot));
    };
    bool ended = over();
    while (!ended && waits()) {
      changed_.wait_for(lock, std::chrono::milliseconds(look_ms));
      ended = over();
    }
    waiting_first_ -= first ? 1 : 0;
    if (!first) waiting_.erase(own);
    changed_.notify_all();
    if (ended) return nullptr;
    --free_;
    return {this, [](void* places) { static_cast<DevicePlaces*>(places)->leave(); }};
  }
  // True where no time is left for a candidate's proof and its time.
  bool is_over() const { return is_over_(For::proof); }

 private:
  static constexpr int look_ms = 20;
  void leave() {
    const std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int free_, waiting_first_ = 0;
  std::multiset<std::int64_t> waiting_;  // slots of proofs
  std::function<bool(For)> is_over_;
};

}  // namespace cupilot
