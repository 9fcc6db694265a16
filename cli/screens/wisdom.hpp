// A wisdom file on a screen.
#pragma once

#include <string>

#include <cupilot/wisdom.hpp>

namespace cupilot::cli {

// A table of shapes by kernels.
std::string wisdom_screen(const WisdomEntry& entry);
// Writes it as JSON, without sources and cubins.
std::string wisdom_summary_json(const Wisdom& wisdom);

}  // namespace cupilot::cli
