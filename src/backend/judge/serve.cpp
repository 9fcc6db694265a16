#include "backend/worker/serve.hpp"
#include "backend/judge/orders_served.hpp"
#include "backend/worker/roles.hpp"

namespace cupilot {

int serve_judge(int device, int confinement) {
  ConfinedSession confined(device, confinement);
  Judge judge(confined.session, LibraryPlaces::loader_and_toolkit);
  return serve_device(confined,
                      [&](DeviceMessage type, const Frame& frame, std::vector<int>& descriptors) {
                        return judge.serve(type, frame, descriptors);
                      });
}

}  // namespace cupilot
