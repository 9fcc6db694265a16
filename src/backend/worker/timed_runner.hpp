// Runs launches for a time: a captured graph (the launches themselves where a device captures
// none), and before every timed replay poisoned outputs, scrubbed shared memory and a scrubbed L2.
// Times candidates in the runner and library calls in the judge.
#pragma once

#include <functional>
#include <vector>

#include "backend/worker/session.hpp"

namespace cupilot {

// Names the images of trusted kernels: of health.cu in every process, of judge.cu in the judge.
inline constexpr const char* trusted_image = "trusted";
inline constexpr const char* judge_image = "judge";

class TimedRunner {
 public:
  explicit TimedRunner(CudaSession& session) : session_(session) {}
  ~TimedRunner();
  // `enqueue` puts the work on the session's stream; `timing` is timed or burst. Regions in
  // `poison` are poisoned before each timed replay but the first, which finds them as the judge
  // left them. Throws CudaFailure.
  RunAnswer visit(const std::function<void()>& enqueue, const std::vector<Region>& poison,
                  const VisitTiming& timing);

  // Removes an earlier kernel's data from the shared memory of every SM.
  void scrub_shared();

  // Does the same, and scrubs the L2.
  void scrub_all() {
    scrub_shared();
    scrub_l2();
  }

  // The known kernel and an empty one.
  ProbeAnswer probe();

 private:
  void ready_memory();
  void scrub_l2();
  RunAnswer time(const std::function<void()>& launch, const std::vector<Region>& poison,
                 const VisitTiming& timing);
  RunAnswer burst(const std::function<void()>& launch, int replays);
  double least_us(const std::function<void()>& enqueue);
  CUevent event(std::size_t index);
  CudaSession& session_;
  CUdeviceptr memory_ = 0;  // words for the trusted kernels, then the flush buffer
  std::int64_t flush_bytes_ = 0;
  std::vector<CUevent> events_;
};

// Guard pattern around the region, and what is asked for in it.
void initialise(CudaSession& session, const Region& region, FillState inside);

}  // namespace cupilot
