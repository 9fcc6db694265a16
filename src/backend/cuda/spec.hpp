// The spec of a real device: what the driver says, over the row of a known chip where there is one.
#pragma once

#include <cupilot/parts/device.hpp>

#include "backend/wire/orders.hpp"

namespace cupilot {

DeviceSpec spec_of(const DeviceHello& hello);

}  // namespace cupilot
