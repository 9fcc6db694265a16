// The runner: the one process that launches untrusted kernels. It maps what it is given and never sees a reference value.
#include "backend/runner.hpp"
#include "backend/runner_launch.hpp"
#include "backend/worker.hpp"
#include "backend/worker_device.hpp"

namespace cupilot {
int serve_runner(int device, int confinement) {
  ConfinedSession confined(device, confinement);
  CudaSession& session = confined.session;
  Visitor visitor(session);
  return serve_device(confined, [&](DeviceMessage type, const Frame& frame, std::vector<int>&) -> std::string {
    if (auto common = serve_common(session, visitor, type, frame)) return *common;
    if (type == DeviceMessage::map_slot) {
      map_slot(session, frame);
      return "";
    }
    const auto order = type == DeviceMessage::run ? unpack_run(frame.body) : std::nullopt;
    if (!order) throw OrderRefused{0, "an order the runner does not know"};
    return carry_out(session, visitor, *order);
  });
}

}  // namespace cupilot
