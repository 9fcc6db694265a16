#include "backend/worker/mps.hpp"

namespace cupilot {

std::string mps_sign(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / "control", ignored))
    return "the control pipe " + (folder / "control").string();
  return "";
}

}  // namespace cupilot
