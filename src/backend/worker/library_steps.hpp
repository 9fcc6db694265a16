// Runs the library baseline and steps of programs, by whichever library computes them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/worker/cublaslt.hpp"
#include "backend/worker/cudnn.hpp"
#include "backend/worker/library.hpp"

namespace cupilot {

class LibrarySteps {
 public:
  // `places`: where cuBLASLt is looked for; `cudnn`: cuDNN's file, "" for none.
  LibrarySteps(CudaSession& session, TimedRunner& visitor, LibraryPlaces places, std::string cudnn)
      : session_(session),
        visitor_(visitor),
        products_(session, visitor, places),
        convolutions_(session, visitor, std::move(cudnn)) {}

  // Times one step. The first visit of a shape tries the library's algorithms and keeps the
  // fastest. Throws CudaFailure, or OrderRefused where the library is missing or has no such step.
  RunAnswer visit(const LibraryVisit& visit);
  // Makes a step ready to be launched, again and again. A choice that is left is made on the
  // launch's own regions, and poisons its output.
  std::function<void()> ready(const StepOrder& order, AlgorithmChoice choice);

 private:
  ReadyStep ready(const StepOrder& order, const std::vector<Region>& poison, bool cold,
                  AlgorithmChoice choice);
  CudaSession& session_;
  TimedRunner& visitor_;
  LibraryMatmul products_;
  LibraryConvolution convolutions_;
};

}  // namespace cupilot
