#include "backend/judge/peaks.hpp"

#include <algorithm>
#include <cmath>

#include "backend/worker/serve.hpp"

namespace cupilot {
namespace {

constexpr int launch_limit = 100'000;

int windows(const SustainOrder& order) {
  return order.window == 0 ? 1 : static_cast<int>(order.bytes / order.window);
}

// Launches for about so long; all windows equally often.
int count_for(const SustainOrder& order, double seconds, double one_us) {
  const double count = std::clamp(std::ceil(seconds * 1e6 / std::max(one_us, 0.1)), 1.0,
                                  static_cast<double>(launch_limit));
  return static_cast<int>(std::ceil(count / windows(order))) * windows(order);
}

}  // namespace

Sustainer::~Sustainer() {
  if (memory_ != 0) driver().cuMemFree(memory_);
}

void Sustainer::ready(const SustainOrder& order) {
  if (begin_ == nullptr) {
    check(driver().cuEventCreate(&begin_, CU_EVENT_DEFAULT), "making an event");
    check(driver().cuEventCreate(&end_, CU_EVENT_DEFAULT), "making an event");
  }
  if (bytes_ == order.bytes) return;
  if (memory_ != 0) check(driver().cuMemFree(memory_), "giving scratch memory back");
  memory_ = 0;
  bytes_ = 0;
  check(driver().cuMemAlloc(&memory_, static_cast<std::size_t>(order.bytes)), "scratch memory");
  bytes_ = order.bytes;
  session_.launch(order.image, "fill_random", order.bytes / 8, memory_, order.bytes,
                  std::int64_t{0});
  session_.synchronize();
}

// Mean over `count` launches back to back.
double Sustainer::launches_us(const SustainOrder& order, int count) {
  const auto half = static_cast<std::size_t>(order.bytes / 2);
  CUfunction function = order.entry.empty() ? nullptr : session_.function(order.image, order.entry);
  if (function != nullptr && order.shared > 0) {
    check(driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      order.shared),
          "asking for shared memory");
  }
  CUdeviceptr begin = memory_;
  std::int64_t bytes = order.window == 0 ? order.bytes : order.window, rounds = order.rounds;
  void* arguments[] = {&begin, &bytes, &rounds};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(order.blocks);
  config.blockDimX = static_cast<unsigned>(order.threads);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(order.shared);
  config.hStream = session_.stream();
  check(driver().cuEventRecord(begin_, session_.stream()), "recording an event");
  for (int i = 0; i < count; ++i) {
    if (function == nullptr) {
      check(driver().cuMemcpyDtoDAsync(memory_ + half, memory_, half, session_.stream()),
            "copying");
    } else {
      begin = memory_ + static_cast<CUdeviceptr>(i % windows(order) * order.window);
      check(driver().cuLaunchKernelEx(&config, function, arguments, nullptr),
            "launching a kernel of the peaks");
    }
  }
  check(driver().cuEventRecord(end_, session_.stream()), "recording an event");
  session_.synchronize();
  float milliseconds = 0;
  check(driver().cuEventElapsedTime(&milliseconds, begin_, end_), "reading an event");
  return static_cast<double>(milliseconds) * 1e3 / count;
}

SustainAnswer Sustainer::run(const SustainOrder& order) {
  const bool whole =
      order.window == 0 || (order.window >= 1 << 20 && order.bytes % order.window == 0);
  if (order.bytes < 1 << 20 || !whole || order.repeats < 1 || !(order.seconds > 0) ||
      !(order.warm_seconds > 0))
    throw OrderRefused{0, "a rate order out of bounds"};
  ready(order);
  launches_us(order, 1);
  const double once = launches_us(order, 3);
  const double warm = launches_us(order, count_for(order, order.warm_seconds, once));
  SustainAnswer answer;
  for (int i = 0; i < order.repeats; ++i)
    answer.launch_us.push_back(launches_us(order, count_for(order, order.seconds, warm)));
  return answer;
}

}  // namespace cupilot
