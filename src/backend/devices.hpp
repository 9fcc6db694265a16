// The four devices behind open_backend(); each maker lives beside its implementation.
#pragma once

#include <memory>
#include <string>

#include <cupilot/backend.hpp>
#include <cupilot/parts/own_kernel.hpp>

namespace cupilot {

// Device `index` of libcuda. Error no_device without driver or device, toolchain without NVRTC.
Result<std::unique_ptr<Backend>> open_cuda(int index, const BackendOptions& options);
// The PTX interpreter in the guise of a chip of known_chips(). Error usage for an unknown chip,
// toolchain without NVRTC. `own`: kernels are their author's; null: candidates, which count as
// hostile.
Result<std::unique_ptr<Backend>> open_virtual(const std::string& chip,
                                              const BackendOptions& options,
                                              const OwnRules* own = nullptr);
// Measurements of an earlier run or of a recorded landscape. Error usage when the folder is none.
Result<std::unique_ptr<Backend>> open_recorded(const std::string& dir,
                                               const BackendOptions& options);
// A landscape with known optimum. Error usage when the file is none.
Result<std::unique_ptr<Backend>> open_fake(const std::string& file, const BackendOptions& options);

}  // namespace cupilot
