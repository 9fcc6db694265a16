// Writes the parts of a launcher that call a library, where steps of its plan are a library's.
#pragma once

#include <string_view>

namespace cupilot {

// Functions is_library_step(), choose() and compute(); a table `library_entries` of the entries
// that stand in for steps comes before them, tables of memory too.
std::string_view launcher_library_text();

}  // namespace cupilot
