// cuBLASLt's best of its first eight heuristics, opened at run time.
#pragma once

#include <memory>
#include <vector>

#include "backend/worker/library.hpp"
#include "backend/worker/ready_step.hpp"

namespace cupilot {

class LibraryMatmul {
 public:
  // `places`: where the library is looked for.
  LibraryMatmul(CudaSession& session, TimedRunner& visitor, LibraryPlaces places);
  ~LibraryMatmul();
  // Describes the product and chooses its algorithm: the one that was timed for this shape, else by
  // `choice`, with `poison` poisoned in between. Throws CudaFailure, or OrderRefused where the
  // library is missing or has no such product.
  ReadyStep ready(const LibraryOrder& order, const std::vector<Region>& poison, bool cold,
                  AlgorithmChoice choice);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
