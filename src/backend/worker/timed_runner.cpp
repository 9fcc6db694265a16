#include "backend/worker/timed_runner.hpp"

#include <algorithm>
#include <chrono>

namespace cupilot {
namespace {

// A captured and instantiated graph, given back at scope's end.
struct Captured {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ~Captured() {
    if (executable != nullptr) driver().cuGraphExecDestroy(executable);
    if (graph != nullptr) driver().cuGraphDestroy(graph);
  }
};

void capture(CudaSession& session, const std::function<void()>& enqueue, Captured& into) {
  check(driver().cuStreamBeginCapture(session.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "capturing a graph");
  try {
    enqueue();
  } catch (...) {
    driver().cuStreamEndCapture(session.stream(), &into.graph);
    throw;
  }
  check(driver().cuStreamEndCapture(session.stream(), &into.graph), "ending the capture");
  check(driver().cuGraphInstantiate(&into.executable, into.graph, 0), "instantiating the graph");
}

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

RunAnswer TimedRunner::time(CUgraphExec graph, const std::vector<Region>& poison,
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
    check(driver().cuGraphLaunch(graph, session_.stream()), "launching the graph");
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

RunAnswer TimedRunner::burst(CUgraphExec graph, int replays) {
  session_.synchronize();
  const auto begin = HostClock::now();
  for (int i = 0; i < replays; ++i)
    check(driver().cuGraphLaunch(graph, session_.stream()), "launching the graph");
  session_.synchronize();
  return {{}, microseconds_since(begin)};
}

RunAnswer TimedRunner::visit(const std::function<void()>& enqueue,
                             const std::vector<Region>& poison, const VisitTiming& timing) {
  Captured captured;
  capture(session_, enqueue, captured);
  if (timing.mode == VisitTiming::Mode::burst) return burst(captured.executable, timing.replays);
  return time(captured.executable, poison, timing);
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
  Captured empty;
  capture(
      session_, [&] { session_.launch(trusted_image, "nothing", 1, 0); }, empty);
  answer.empty_us = least_us([&] {
    check(driver().cuGraphLaunch(empty.executable, session_.stream()), "launching a graph");
  });
  return answer;
}

void initialise(CudaSession& session, const Region& region, FillState inside) {
  const MappedSlot& slot = session.slots.at(region.slot);
  session.launch(trusted_image, "dress_slot", slot.bytes / 8, slot.address, slot.bytes,
                 region.offset, region.offset + region.bytes, static_cast<int>(inside));
}

}  // namespace cupilot
