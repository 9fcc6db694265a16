// The library baseline: cuBLASLt's best of its first eight heuristics, opened at run time.
#pragma once

#include <memory>
#include <string>

#include "backend/worker/library.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {

class LibraryMatmul {
 public:
  // `places`: where the library is looked for.
  LibraryMatmul(CudaSession& session, TimedRunner& visitor, LibraryPlaces places);
  ~LibraryMatmul();
  // Times one product. The first visit of a shape tries the heuristics and keeps the fastest.
  // Throws CudaFailure, or OrderRefused when the library is missing or has no such product.
  RunAnswer visit(const LibraryVisit& visit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
