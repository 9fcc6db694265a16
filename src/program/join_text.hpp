// Texts of parts side by side in one file.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace cupilot {

// Takes device headers out of the parts' texts; returns them, each once, in an order in which each
// follows those that it includes.
std::string hoist_headers(std::vector<std::string>& texts);

// Names that the text defines for the preprocessor.
std::set<std::string> macros_in(const std::string& text);

}  // namespace cupilot
