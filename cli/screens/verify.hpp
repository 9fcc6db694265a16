// The screen of `verify`: at most 24 lines of at most 100 columns.
#pragma once

#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/candidate.hpp>
#include <cupilot/task.hpp>

#include "kernel_files.hpp"

namespace cupilot::cli {

// Says what was proved, what was not, how fast against the floor, under which protections and
// without which (`lacking`).
std::string proved_screen(const OwnKernel& kernel, const Candidate& candidate,
                          const Accepted& accepted, const std::string& device,
                          const std::vector<std::string>& lacking);

// Code, reason, place with its lines of PTX and source, next step. `ptx` may be empty.
std::string refused_screen(const OwnKernel& kernel, const Rejected& rejected,
                           const std::string& device, const std::string& ptx);

// Says it, or as JSON what `verify --json` says of a rejected candidate. Returns the exit code.
int say_refused(const OwnKernel& kernel, const Rejected& rejected, Backend& backend, bool json);

}  // namespace cupilot::cli
