// Confines a judge or runner. Untrusted code runs long after the device was opened, so most
// restrictions follow afterwards, when the driver needs little more than the descriptors it holds.
#pragma once

#include <string>
#include <vector>

namespace cupilot {

// The restrictions that are tried; a controller whose process cannot work under one level tries the
// next.
enum class ConfineLevel { full, calls_only, limits_only };
inline constexpr int confine_levels = 3;

// Before the device is opened: limits, no new privileges, network and IPC of its own. In words what
// took hold.
std::string confine_before_device(ConfineLevel level);

// Afterwards: files and system calls; `libraries` names folders that are read too. In words what
// took hold, and what did not.
std::string confine_after_device(ConfineLevel level, const std::vector<std::string>& libraries);

}  // namespace cupilot
