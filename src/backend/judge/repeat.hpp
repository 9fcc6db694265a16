// Equal runs must leave equal bits: the first run's outputs are kept, later ones compared with them
// on the device. And single elements for the controller to look at.
#pragma once

#include <vector>

#include "backend/judge/oracle.hpp"
#include "backend/worker/session.hpp"

namespace cupilot {

class Repeats {
 public:
  explicit Repeats(CudaSession& session) : session_(session) {}
  ~Repeats();
  // Compares, or keeps when the order is the first of its outputs. Throws CudaFailure.
  RepeatAnswer take(const RepeatOrder& order);

 private:
  struct Kept {
    CUdeviceptr memory = 0;  // the outputs, then a mark an element, then the count
    std::int64_t bytes = 0, elements = 0;
  };
  CUdeviceptr count_of(const Kept& kept) const;
  void keep(const RepeatOrder& order);
  void forget();
  CudaSession& session_;
  std::vector<Kept> kept_;
};

// Throws CudaFailure; OrderRefused when an index lies outside.
ReadAnswer read_elements(CudaSession& session, OracleStore& oracles, const ReadOrder& order);

}  // namespace cupilot
