// Options of what a champion is timed against.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/verbs.hpp"

namespace cupilot::cli {

// --against. `more`: what else it takes than contestants, after their list.
void add_against(CLI::App& verb, std::vector<std::string>& names, const std::string& more);
// Options of a captured launch in the task's place.
void add_captured(CLI::App& verb, EvolveFlags& flags);
// --bind.
void add_bind(CLI::App& verb, std::vector<std::string>& words);

}  // namespace cupilot::cli
