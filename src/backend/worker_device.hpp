// The serving loop that judge and runner share.
#pragma once

#include <functional>
#include <string>

#include "backend/cuda_session.hpp"
#include "backend/frame.hpp"

namespace cupilot {

// Thrown by a handler: the order cannot be carried out, the process is still good.
struct OrderRefused {
  int code = 0;
  std::string what;
};

// Payload of the answer; descriptors to send along are appended to `descriptors`.
using OrderHandler = std::function<std::string(DeviceMessage type, const Frame& frame, std::vector<int>& descriptors)>;

// Greets, then answers orders until the controller goes away or the device is lost. A thread kills this process when the
// controller dies while a kernel runs. Returns the exit status.
int serve_device(CudaSession& session, const OrderHandler& handler);

// Loading images and dropping slots, which both roles do; nullopt for other orders.
std::optional<std::string> serve_common(CudaSession& session, DeviceMessage type, const Frame& frame);

}  // namespace cupilot
