// PTX with one kernel of several.
#pragma once

#include <string>
#include <string_view>

namespace cupilot {

// Leaves out of a module's text all kernels but `entry`, and sections of debuggers' tables.
std::string with_one_entry(std::string_view text, std::string_view entry);

}  // namespace cupilot
