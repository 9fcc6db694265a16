#include "backend/worker/timed_runner.hpp"

#include <algorithm>
#include <chrono>

namespace cupilot {
namespace {

// True for the answers of a device or driver that captures no such work.
bool is_uncapturable(CUresult code) {
  return code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         code == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

// Work captured as one graph, given back at scope's end; where it cannot be captured, the work
// itself.
class Replay {
 public:
  Replay(CudaSession& session, const std::function<void()>& enqueue)
      : session_(session), enqueue_(enqueue) {
    try {
      capture();
    } catch (const CudaFailure& failure) {
      give_back();
      if (!is_uncapturable(failure.code)) throw;
    }
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() { give_back(); }

  bool captured() const { return executable_ != nullptr; }
  void launch() const {
    if (!captured()) return enqueue_();
    check(driver().cuGraphLaunch(executable_, session_.stream()), "launching the graph");
  }

 private:
  void capture() {
    check(driver().cuStreamBeginCapture(session_.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
          "capturing a graph");
    try {
      enqueue_();
    } catch (...) {
      driver().cuStreamEndCapture(session_.stream(), &graph_);
      throw;
    }
    check(driver().cuStreamEndCapture(session_.stream(), &graph_), "ending the capture");
    check(driver().cuGraphInstantiate(&executable_, graph_, 0), "instantiating the graph");
  }
  void give_back() {
    if (executable_ != nullptr) driver().cuGraphExecDestroy(executable_);
    if (graph_ != nullptr) driver().cuGraphDestroy(graph_);
    executable_ = nullptr;
    graph_ = nullptr;
  }

  CudaSession& session_;
  const std::function<void()>& enqueue_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

constexpr unsigned hold_nanoseconds = 40'000;
constexpr int probe_launches = 5;
// Words at the start of the visitor's memory.
constexpr CUdeviceptr arrived_at = 0, value_at = 128, sink_at = 256, flush_at = 4096;

using HostClock = std::chrono::steady_clock;
double microseconds_since(HostClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(HostClock::now() - begin).count();
}

}  // namespace

TimedRunner::~TimedRunner() {
  for (const CUevent event : events_) driver().cuEventDestroy(event);
  if (memory_ != 0) driver().cuMemFree(memory_);
}

void TimedRunner::ready_memory() {
  if (memory_ != 0) return;
  flush_bytes_ = std::max<std::int64_t>(4ll * session_.hello().l2_bytes, 64 << 20) / 4096 * 4096;
  check(driver().cuMemAlloc(&memory_, flush_at + static_cast<std::size_t>(flush_bytes_)),
        "allocating the flush buffer");
  check(driver().cuMemsetD8Async(memory_, 0, flush_at, session_.stream()),
        "clearing the visitor's words");
}

CUevent TimedRunner::event(std::size_t index) {
  while (events_.size() <= index)
    check(driver().cuEventCreate(&events_.emplace_back(), CU_EVENT_DEFAULT), "making an event");
  return events_[index];
}

void TimedRunner::scrub_shared() {
  ready_memory();
  const CUfunction function = session_.function(trusted_image, "scrub_shared");
  const int bytes = session_.hello().shared_optin;
  check(
      driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
      "asking for shared memory");
  int words = bytes / 4;
  CUdeviceptr arrived = memory_ + arrived_at;
  void* arguments[] = {&words, &arrived};
  CUlaunchAttribute together{};
  together.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  together.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(session_.hello().sms);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 512;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(bytes);
  config.hStream = session_.stream();
  config.attrs = &together;
  config.numAttrs = 1;
  check(driver().cuLaunchKernelEx(&config, function, arguments, nullptr),
        "scrubbing shared memory");
}

void TimedRunner::scrub_l2() {
  ready_memory();
  if (driver().cuCtxResetPersistingL2Cache != nullptr) driver().cuCtxResetPersistingL2Cache();
  const CUdeviceptr buffer = memory_ + flush_at;
  const std::int64_t count = flush_bytes_ / 16;
  session_.launch(trusted_image, "flush_l2", count / 2, buffer, count, memory_ + sink_at);
  session_.launch(trusted_image, "release_l2", flush_bytes_ / 128, buffer, flush_bytes_);
}

RunAnswer TimedRunner::time(const std::function<void()>& launch, const std::vector<Region>& poison,
                            const VisitTiming& timing) {
  const auto replays = static_cast<std::size_t>(timing.replays);
  event(2 * replays);
  session_.synchronize();
  const auto begin = HostClock::now();
  for (std::size_t i = 0; i < replays; ++i) {
    for (const Region& region : poison) {
      if (i > 0) initialise(session_, region, FillState::poison);
    }
    scrub_shared();
    if (timing.cold) scrub_l2();
    if (!timing.cold) session_.launch(trusted_image, "hold_back", 1, hold_nanoseconds);
    check(driver().cuEventRecord(event(2 * i), session_.stream()), "recording an event");
    launch();
    check(driver().cuEventRecord(event(2 * i + 1), session_.stream()), "recording an event");
  }
  session_.synchronize();
  RunAnswer answer;
  answer.wall_us = microseconds_since(begin);
  for (std::size_t i = 0; i < replays; ++i) {
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, event(2 * i), event(2 * i + 1)),
          "reading an event");
    answer.event_us.push_back(static_cast<double>(milliseconds) * 1e3);
  }
  return answer;
}

RunAnswer TimedRunner::burst(const std::function<void()>& launch, int replays) {
  session_.synchronize();
  const auto begin = HostClock::now();
  for (int i = 0; i < replays; ++i) launch();
  session_.synchronize();
  RunAnswer answer;
  answer.wall_us = microseconds_since(begin);
  return answer;
}

RunAnswer TimedRunner::visit(const std::function<void()>& enqueue,
                             const std::vector<Region>& poison, const VisitTiming& timing) {
  const Replay replay(session_, enqueue);
  const std::function<void()> launch = [&] { replay.launch(); };
  const bool burst = timing.mode == VisitTiming::Mode::burst;
  RunAnswer answer = burst ? this->burst(launch, timing.replays) : time(launch, poison, timing);
  answer.apart = !replay.captured();
  return answer;
}

double TimedRunner::least_us(const std::function<void()>& enqueue) {
  double least = 0;
  for (int i = 0; i < probe_launches; ++i) {
    session_.launch(trusted_image, "hold_back", 1, hold_nanoseconds);
    check(driver().cuEventRecord(event(0), session_.stream()), "recording an event");
    enqueue();
    check(driver().cuEventRecord(event(1), session_.stream()), "recording an event");
    session_.synchronize();
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, event(0), event(1)), "reading an event");
    if (i == 0 || milliseconds * 1e3 < least) least = static_cast<double>(milliseconds) * 1e3;
  }
  return least;
}

ProbeAnswer TimedRunner::probe() {
  ready_memory();
  CUdeviceptr value = memory_ + value_at;
  check(driver().cuMemsetD8Async(value, 0, 8, session_.stream()), "clearing the probe's value");
  ProbeAnswer answer;
  answer.known_us = least_us(
      [&] { session_.launch(trusted_image, "probe_known", probe_threads, probe_rounds, value); });
  // An odd number of launches leaves the value once in the exclusive sum.
  static_assert(probe_launches % 2 == 1);
  check(driver().cuMemcpyDtoH(&answer.value, value, sizeof answer.value),
        "reading the probe's value");
  const std::function<void()> nothing = [&] { session_.launch(trusted_image, "nothing", 1, 0); };
  const Replay empty(session_, nothing);
  answer.empty_us = least_us([&] { empty.launch(); });
  return answer;
}

void initialise(CudaSession& session, const Region& region, FillState inside) {
  const MappedSlot& slot = session.slots.at(region.slot);
  session.launch(trusted_image, "dress_slot", slot.bytes / 8, slot.address, slot.bytes,
                 region.offset, region.offset + region.bytes, static_cast<int>(inside));
}

}  // namespace cupilot
