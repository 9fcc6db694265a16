// Texts kept for a target under tests/fuzz/corpus/TARGET: files written by hand or kept after a
// finding, and `grown.records`, the few that together reach what millions of mutants reached.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupilot::fuzz {

// The sources' folder: that of the build, or CUPILOT_SOURCES on a machine that has the program but
// not that folder.
std::string sources();

// "imported kernel" -> "imported-kernel".
std::string folder_of(std::string_view target);
std::vector<std::string> kept_texts(std::string_view target);

// One file of texts of any bytes, and back.
std::string packed(const std::vector<std::string>& texts);
std::vector<std::string> unpacked(std::string_view bytes);

}  // namespace cupilot::fuzz
