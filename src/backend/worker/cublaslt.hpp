// cuBLASLt's best of its first eight heuristics, opened at run time: the library baseline, and
// steps of programs.
#pragma once

#include <functional>
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
  // The product as work that can be put on the session's stream again and again, captured or not.
  // The first of a shape tries the heuristics, cold, and leaves the output poisoned. Throws as
  // visit() does.
  std::function<void()> ready(const LibraryOrder& order);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
