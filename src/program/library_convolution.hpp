// A convolution as a step of a library (docs/programs.md, Library steps).
#pragma once

#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// True for convolutions and transposed ones of any number of dimensions.
bool is_convolution(const Operation& operation);

// A task of one convolution as one launch that is a step of cuDNN, with a plain kernel that stands
// in where the library is not. Rejected{measure.failed} says why there is none.
Attempt<KernelSource> convolution_part(const Task& task);

}  // namespace cupilot
