// The serving loop that judge and runner share.
#pragma once

#include <functional>
#include <string>

#include "backend/wire/frame.hpp"
#include "backend/worker/confine.hpp"
#include "backend/worker/roles.hpp"
#include "backend/worker/session.hpp"
#include "backend/worker/timed_runner.hpp"

namespace cupilot {

// Thrown by a handler: the order cannot be carried out, the process is still good.
struct OrderRefused {
  int code = 0;
  std::string what;
};

// Payload of the answer; descriptors to send along are appended to `descriptors`.
using OrderHandler = std::function<std::string(DeviceMessage type, const Frame& frame,
                                               std::vector<int>& descriptors)>;

// The handler's answer, or what its exception says.
DeviceAnswer answer_of(const OrderHandler& handler, const Frame& frame,
                       std::vector<int>& descriptors);

// Confines itself and opens the device.
struct ConfinedSession {
  explicit ConfinedSession(const DeviceRole& role);
  ConfineLevel level;
  std::string held;   // its confinement so far, in words
  std::string cudnn;  // the library's file; "": none was found
  CudaSession session;
};

// Confines itself further, greets, then answers orders until the controller goes away or the device
// is lost. A thread kills this process when the controller dies while a kernel runs. `idle` is
// called before each wait. Returns the exit status.
int serve_device(ConfinedSession& confined, const OrderHandler& handler,
                 const std::function<void()>& idle = {});

// A process that launches kernels on memory that it is given to map: `work` carries out its one own
// order; nullopt: that order cannot be read.
using LaunchWork = std::function<std::optional<std::string>(const Frame& frame)>;
int serve_launches(ConfinedSession& confined, TimedRunner& visitor, DeviceMessage own,
                   const LaunchWork& work, const std::function<void()>& idle = {});

// Serves the orders of both roles: loading images, dropping slots and the health probe; nullopt for
// other orders.
std::optional<std::string> serve_common(CudaSession& session, TimedRunner& visitor,
                                        DeviceMessage type, const Frame& frame);

}  // namespace cupilot
