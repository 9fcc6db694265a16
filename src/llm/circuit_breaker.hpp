// Leaves an endpoint alone that failed several times in a row, and tries it again by one exchange.
#pragma once

#include <mutex>
#include <optional>

namespace cupilot {

class CircuitBreaker {
 public:
  // Seconds to wait before the next exchange may begin; nothing: this one may, and settle() must
  // follow it. Once the wait is over, one exchange goes ahead and the others wait for its end.
  std::optional<double> admit(double now);
  // `failed`: the endpoint did not answer. A question that it refused is an answer.
  void settle(bool failed, double now);
  // Ends an exchange that says nothing of the endpoint.
  void leave();

 private:
  static constexpr int most_failures = 3;
  static constexpr double first_pause = 30, longest_pause = 600;  // seconds

  std::mutex mutex_;
  int failures_ = 0;
  double pause_ = first_pause, open_until_ = 0;
  bool probing_ = false;
};

}  // namespace cupilot
