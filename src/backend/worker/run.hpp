// Launching untrusted kernels: tensor maps, arguments and attributes of one order, run once or for
// a time.
#pragma once

#include <string>

#include "backend/worker/library_steps.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {

// The payload of the answer. Throws CudaFailure, or OrderRefused with the driver's code.
// `library` computes the launches that are steps of it.
std::string carry_out(CudaSession& session, TimedRunner& visitor, LibrarySteps& library,
                      const RunOrder& order);

}  // namespace cupilot
