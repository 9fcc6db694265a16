// Flags of what steers a search.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "commands/verbs.hpp"

namespace cupilot::cli {

void add_steering(CLI::App& verb, EvolveFlags& flags);

// The pool that a search reads and writes; "": none. Where the flag is silent: $CUPILOT_POOL, else
// pool.sqlite in the user's data folder (XDG base directories), which is made.
std::string pool_of(const EvolveFlags& flags);
// Names a suite's, by default in its run directory.
std::string pool_of(const SuiteFlags& flags);

// Makes the path absolute: a run may be resumed, or begun anew, from another folder.
std::string pool_anywhere(const std::string& pool);

}  // namespace cupilot::cli
