// The runner: the one process that launches untrusted kernels. It maps what it is given and never
// sees a reference value.
#include "backend/worker/launch.hpp"
#include "backend/worker/roles.hpp"
#include "backend/worker/run.hpp"
#include "backend/worker/serve.hpp"

namespace cupilot {
int serve_runner(const DeviceRole& role) {
  ConfinedSession confined(role);
  TimedRunner visitor(confined.session);
  LibrarySteps library(confined.session, visitor, LibraryPlaces::loader_and_toolkit,
                       confined.cudnn);
  return serve_launches(confined, visitor, DeviceMessage::run,
                        [&](const Frame& frame) -> std::optional<std::string> {
                          const auto order = unpack_run(frame.body);
                          if (!order) return std::nullopt;
                          return carry_out(confined.session, visitor, library, *order);
                        });
}

}  // namespace cupilot
