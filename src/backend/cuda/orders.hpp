// Orders to the judge that wait for one another: to wake a process and to sleep until it answers
// costs the controller more than saying and reading most orders, so those that follow each other go
// together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/trial_device.hpp"

namespace cupilot {

class JudgeOrders {
 public:
  explicit JudgeOrders(TrialDevice& device) : device_(device) {}
  // Goes with the next telling, after what was put off before it; `then` reads its payload.
  void later(DeviceMessage type, std::string body,
             std::function<Result<void>(const std::string&)> then);
  // Done when all that was put off before it has been answered and read.
  void afterwards(std::function<Result<void>()> then);
  // Says all that was put off. The first Error ends it: the rest is neither read nor said again.
  Result<void> tell();
  void forget() { waiting_.clear(); }

 private:
  struct Waiting {
    std::optional<DeviceOrder> order;
    std::function<Result<void>(const std::string&)> then;
  };
  TrialDevice& device_;
  std::vector<Waiting> waiting_;
};

}  // namespace cupilot
