// A kernel without the arithmetic that leads to no address and no branch. Internal.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// Puts instructions that do nothing in the place of those that function `entry` needs neither for
// the addresses of global memory nor for its way through the text: it touches the same global
// memory but for stores and updates, in the same order, by as many instructions. Stores of floats
// and vectors are taken to change no ticket. nullopt: what it loads may decide, or it calls
// functions.
std::optional<Module> without_values(const Module& module, std::uint32_t entry);

}  // namespace cupilot::ptx
