// Checks a tunable against the task that it is given for, before anything is written or compiled.
#pragma once

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/tunable.hpp>

namespace cupilot {

// Error usage names the file, the field of the header, the reason and the fix: another family or
// class, a name nobody answers, a kernel the text does not hold, an argument that is none of the
// task, a parameter that nothing reads.
Result<void> check_tunable(const Tunable& tunable, const Task& task, const DeviceSpec& device);

}  // namespace cupilot
