// Launching untrusted kernels: tensor maps, arguments and attributes of one order, run once or for
// a time.
#pragma once

#include <string>

#include "backend/worker/visit.hpp"

namespace cupilot {

// The payload of the answer. Throws CudaFailure, or OrderRefused with the driver's code.
std::string carry_out(CudaSession& session, Visitor& visitor, const RunOrder& order);

}  // namespace cupilot
