// Texts of parts side by side in one file.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace cupilot {

// Takes device headers out of the parts' texts; returns them, each once, in an order in which each
// follows those that it includes.
std::string hoist_headers(std::vector<std::string>& texts);

// Arrays of shared memory that texts declare in different ways: within functions that are
// extern "C" they have C linkage, so that namespaces do not tell them apart.
std::set<std::string> clashing_arrays(const std::vector<std::string>& texts);

// Names that the text defines for the preprocessor.
std::set<std::string> macros_in(const std::string& text);

}  // namespace cupilot
