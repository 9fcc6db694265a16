// Trusted kernels run back to back for as long as a rate needs to settle.
#pragma once

#include "backend/worker/session.hpp"

namespace cupilot {

class Sustainer {
 public:
  explicit Sustainer(CudaSession& session) : session_(session) {}
  ~Sustainer();
  // Throws CudaFailure.
  SustainAnswer run(const SustainOrder& order);

 private:
  void ready(const SustainOrder& order);
  double launches_us(const SustainOrder& order, int count);
  CudaSession& session_;
  CUdeviceptr memory_ = 0;
  std::int64_t bytes_ = 0;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace cupilot
