// Measuring what a device sustains: trusted kernels in the judge, one part of the chip each, and
// the library's products.
#pragma once

#include <cupilot/parts/peaks.hpp>

#include "backend/cuda/trials.hpp"

namespace cupilot {

Result<Peaks> measure_peaks(TrialDevice& device, CompilePool& pool, const DeviceSpec& spec,
                            CudaTrials& trials);

}  // namespace cupilot
