// Comparing outputs with reference values, and looking at what must not have changed, all on the
// device.
#pragma once

#include "backend/judge/given.hpp"
#include "backend/judge/oracle.hpp"
#include "backend/worker/session.hpp"

namespace cupilot {

class Checker {
 public:
  Checker(CudaSession& session, OracleStore& oracles, const GivenBytes& given)
      : session_(session), oracles_(oracles), given_(given) {}
  ~Checker();
  CheckAnswer check_all(const CheckOrder& order);

 private:
  // Device memory for the small results of one order, zeroed.
  CUdeviceptr scratch(std::size_t bytes);
  CudaSession& session_;
  OracleStore& oracles_;
  const GivenBytes& given_;
  CUdeviceptr memory_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace cupilot
