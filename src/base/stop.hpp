// Ends long work early. The thread that asks for work says by which flags it is stopped; the work
// looks at them now and then and returns stopped_error(), which judges nothing.
#pragma once

#include <atomic>

#include <cupilot/result.hpp>

namespace cupilot {

// Flags that others set. Null: nobody stops by it.
struct StopFlags {
  const std::atomic<bool>* cancel = nullptr;  // the host wants the end of all
  const std::atomic<bool>* over = nullptr;    // the time of this work is over

  bool wanted() const { return is_set(cancel) || is_set(over); }
  bool cancelled() const { return is_set(cancel); }
  bool none() const { return cancel == nullptr && over == nullptr; }

 private:
  static bool is_set(const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }
};

// The flags of the calling thread's work.
StopFlags stop_flags();

// Sets the flags of the calling thread's work while it lives. A thread that helps another takes
// over the other's stop_flags().
class StopScope {
 public:
  explicit StopScope(StopFlags flags);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  StopFlags outer_;
};

Error stopped_error();

}  // namespace cupilot
