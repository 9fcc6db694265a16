// Texts of parts side by side in one file.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

// Copies elements between a step's value and its place in a tensor of all steps, elements of so
// many bytes. A fixed grid: sizes of the task are no steps of it.
inline constexpr std::int64_t copy_blocks = 16, copy_threads = 256;
std::string copy_entry(int bytes);
std::string copy_text(int bytes);

// A scalar's bits as a whole number. A negative one is written as a difference: the least one has
// no positive.
Expr bits_of(const Scalar& scalar);

// Takes device headers out of the parts' texts; returns them, each once, in an order in which each
// follows those that it includes.
std::string hoist_headers(std::vector<std::string>& texts);

// Arrays of shared memory that texts declare in different ways: within functions that are
// extern "C" they have C linkage, so that namespaces do not tell them apart.
std::set<std::string> clashing_arrays(const std::vector<std::string>& texts);

// Names that the text defines for the preprocessor.
std::set<std::string> macros_in(const std::string& text);

}  // namespace cupilot
