// Estimates what of the bytes that blocks load again L2 no longer has.
#pragma once

#include <cupilot/parts/device.hpp>
#include <cupilot/verdict.hpp>

namespace cupilot {

// Bytes of a launch that come from DRAM again. Between a block's two loads of a line all resident
// blocks touch reread_span bytes each; of a larger set than L2 has room for, it keeps a part in
// proportion.
double far_reread_bytes(const DeviceSpec& device, const ModelInput& input);

}  // namespace cupilot
