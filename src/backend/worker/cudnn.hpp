// cuDNN's fastest convolution of those that sum terms as they are, opened at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/worker/ready_step.hpp"

namespace cupilot {

class LibraryConvolution {
 public:
  // `file`: as cudnn_file() gives it.
  LibraryConvolution(CudaSession& session, TimedRunner& visitor, std::string file);
  ~LibraryConvolution();
  // Describes the convolution and chooses its algorithm: the one that was timed for this shape,
  // else by `choice`, with `poison` poisoned in between. Throws CudaFailure, or OrderRefused where
  // the library is missing or has no such convolution.
  ReadyStep ready(const ConvolutionOrder& order, const std::vector<Region>& poison, bool cold,
                  AlgorithmChoice choice);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupilot
