// One timed visit of a contestant: a captured graph replayed, each replay with poisoned outputs and a scrubbed L2, between
// two events. The same code times candidates in the runner and library calls in the judge.
#pragma once

#include <functional>
#include <vector>

#include "backend/cuda_session.hpp"

namespace cupilot {

// Name under which both device processes load the trusted kernels.
inline constexpr const char* trusted_image = "trusted";

class Visitor {
 public:
  explicit Visitor(CudaSession& session) : session_(session) {}
  ~Visitor();
  // `enqueue` puts the work on the session's stream. Regions in `poison` are poisoned before each replay but the first,
  // which finds them as the judge left them. Throws CudaFailure.
  RunAnswer time(const std::function<void()>& enqueue, const std::vector<Region>& poison, const VisitTiming& timing);

 private:
  void scrub(bool cold);
  CudaSession& session_;
  CUdeviceptr flush_ = 0;
  std::int64_t flush_bytes_ = 0;
  std::vector<CUevent> events_;
};

// Guard pattern around the region and poison (1), zeros (2) or nothing (0) in it.
void dress(CudaSession& session, const Region& region, int inside);

}  // namespace cupilot
