#include "backend/worker/serve.hpp"
#include "backend/judge/orders_served.hpp"
#include "backend/worker/roles.hpp"

namespace cupilot {

int serve_judge(const DeviceRole& role) {
  ConfinedSession confined(role);
  Judge judge(confined.session, LibraryPlaces::loader_and_toolkit, confined.cudnn);
  return serve_device(confined,
                      [&](DeviceMessage type, const Frame& frame, std::vector<int>& descriptors) {
                        return judge.serve(type, frame, descriptors);
                      });
}

}  // namespace cupilot
