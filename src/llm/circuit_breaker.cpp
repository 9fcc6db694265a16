#include "llm/circuit_breaker.hpp"

#include <algorithm>

namespace cupilot {

std::optional<double> CircuitBreaker::admit(double now) {
  const std::lock_guard hold(mutex_);
  if (failures_ < most_failures) return std::nullopt;
  if (now < open_until_) return open_until_ - now;
  if (probing_) return pause_;
  probing_ = true;
  return std::nullopt;
}

void CircuitBreaker::settle(bool failed, double now) {
  const std::lock_guard hold(mutex_);
  probing_ = false;
  if (!failed) {
    failures_ = 0;
    pause_ = first_pause;
    return;
  }
  if (++failures_ < most_failures) return;
  open_until_ = now + pause_;
  pause_ = std::min(2 * pause_, longest_pause);
}

void CircuitBreaker::leave() {
  const std::lock_guard hold(mutex_);
  probing_ = false;
}

}  // namespace cupilot
