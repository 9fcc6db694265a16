// Whether an MPS server may stand between us and the card: there a fault of one client ends every
// other, and they ours.
#pragma once

#include <filesystem>
#include <string>

namespace cupilot {

// What tells of one, "" when nothing does: the control pipe in the folder where CUDA looks for it.
// Workers start without CUDA_MPS_PIPE_DIRECTORY, so that is its usual place, whatever this
// process's environment says.
std::string mps_sign(const std::filesystem::path& folder = "/tmp/nvidia-mps");

}  // namespace cupilot
