// Comparing outputs with reference values, and looking at what must not have changed, all on the
// device.
#pragma once

#include "backend/judge/oracle.hpp"
#include "backend/worker/session.hpp"

namespace cupilot {

class Checker {
 public:
  Checker(CudaSession& session, OracleStore& oracles) : session_(session), oracles_(oracles) {}
  ~Checker();
  CheckAnswer check_all(const CheckOrder& order);

 private:
  // Device memory for the small results of one order, zeroed.
  CUdeviceptr scratch(std::size_t bytes);
  CudaSession& session_;
  OracleStore& oracles_;
  CUdeviceptr memory_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace cupilot
