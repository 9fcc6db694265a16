#include "backend/cuda_visit.hpp"

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
  check(driver().cuStreamBeginCapture(session.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing a graph");
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

}  // namespace

Visitor::~Visitor() {
  if (flush_ != 0) driver().cuMemFree(flush_);
}

void Visitor::scrub(bool cold) {
  if (!cold) {
    session_.launch(trusted_image, "hold_back", 1, hold_nanoseconds);
    return;
  }
  if (flush_ == 0) {
    flush_bytes_ = std::max<std::int64_t>(4ll * session_.hello().l2_bytes, 64 << 20) / 4096 * 4096;
    check(driver().cuMemAlloc(&flush_, static_cast<std::size_t>(flush_bytes_)), "allocating the flush buffer");
  }
  const std::int64_t count = flush_bytes_ / 16;
  session_.launch(trusted_image, "flush_l2", count / 2, flush_, count, flush_);
}

RunAnswer Visitor::time(const std::function<void()>& enqueue, const std::vector<Region>& poison, const VisitTiming& timing) {
  Captured captured;
  capture(session_, enqueue, captured);
  while (events_.size() < static_cast<std::size_t>(timing.replays) * 2) {
    check(driver().cuEventCreate(&events_.emplace_back(), CU_EVENT_DEFAULT), "making an event");
  }
  session_.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < static_cast<std::size_t>(timing.replays); ++i) {
    for (const Region& region : poison) {
      if (i > 0) dress(session_, region, 1);
    }
    scrub(timing.cold);
    check(driver().cuEventRecord(events_[2 * i], session_.stream()), "recording an event");
    check(driver().cuGraphLaunch(captured.executable, session_.stream()), "launching the graph");
    check(driver().cuEventRecord(events_[2 * i + 1], session_.stream()), "recording an event");
  }
  session_.synchronize();
  RunAnswer answer;
  answer.wall_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < static_cast<std::size_t>(timing.replays); ++i) {
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, events_[2 * i], events_[2 * i + 1]), "reading an event");
    answer.event_us.push_back(static_cast<double>(milliseconds) * 1e3);
  }
  return answer;
}

void dress(CudaSession& session, const Region& region, int inside) {
  const MappedSlot& slot = session.slots.at(region.slot);
  session.launch(trusted_image, "dress_slot", slot.bytes / 8, slot.address, slot.bytes, region.offset,
                 region.offset + region.bytes, inside);
}

}  // namespace cupilot
