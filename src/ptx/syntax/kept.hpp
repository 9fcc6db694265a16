// Leaves out of a module what some of its kernels do not need.
#pragma once

#include <span>
#include <string>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// Makes every kernel but those of `names`, and the functions that only the others call, empty and
// unknown outside; variables that nothing names any more take no memory. Indices stay.
void keep_entries(Module& module, std::span<const std::string> names);

}  // namespace cupilot::ptx
