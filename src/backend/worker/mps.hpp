// Detects an MPS server between us and the card: there a fault of one client ends every other, and
// they ours.
#pragma once

#include <filesystem>
#include <string>

namespace cupilot {

// Returns the sign of a server, "" if there is none: the control pipe in the folder where CUDA
// looks for it. Workers start without CUDA_MPS_PIPE_DIRECTORY, so that is its usual place, whatever
// this process's environment says.
std::string mps_sign(const std::filesystem::path& folder = "/tmp/nvidia-mps");

}  // namespace cupilot
