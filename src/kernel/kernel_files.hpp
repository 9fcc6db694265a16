// The built-in templates and the device headers they include, embedded in the library.
#pragma once

#include <span>

#include "base/embedded.hpp"

namespace cupilot {

// Named "templates/gemm_simt.cu", "device/types.cuh" …
std::span<const EmbeddedFile> kernel_files();

}  // namespace cupilot
