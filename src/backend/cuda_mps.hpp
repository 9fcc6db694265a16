// Whether an MPS server may stand between us and the card: there a fault of one client ends every other, and they ours.
#pragma once

#include <string>

namespace cupilot {

// What tells of one, "" when nothing does: the environment's pipe folder or the control pipe at its usual place.
std::string mps_sign();

}  // namespace cupilot
