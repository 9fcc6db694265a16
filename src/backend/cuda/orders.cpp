#include "backend/cuda/orders.hpp"

#include <utility>

namespace cupilot {

void JudgeOrders::later(DeviceMessage type, std::string body,
                        std::function<Result<void>(const std::string&)> then) {
  waiting_.push_back({DeviceOrder{type, std::move(body)}, std::move(then)});
}

void JudgeOrders::afterwards(std::function<Result<void>()> then) {
  waiting_.push_back(
      {std::nullopt, [then = std::move(then)](const std::string&) { return then(); }});
}

Result<void> JudgeOrders::tell() {
  std::vector<Waiting> told = std::exchange(waiting_, {});
  std::vector<DeviceOrder> orders;
  for (Waiting& one : told) {
    if (one.order) orders.push_back(std::move(*one.order));
  }
  std::vector<std::string> payloads;
  if (!orders.empty()) {
    auto answered = device_.judge_all(orders);
    if (!answered) return answered.error();
    payloads = std::move(*answered);
  }
  auto payload = payloads.begin();
  for (const Waiting& one : told) {
    if (auto read = one.then(one.order ? *payload++ : std::string()); !read) return read;
  }
  return {};
}

}  // namespace cupilot
