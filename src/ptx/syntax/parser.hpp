// PTX text to Module.
#pragma once

#include <cstddef>
#include <string_view>

#include <cupilot/result.hpp>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

struct ParseLimits {
  std::size_t bytes = 96u << 20;
  std::size_t instructions = 1u << 21;    // in the whole module
  std::size_t registers = 1u << 20;       // in one function
  std::size_t depth = 64;                 // nested scopes
  std::size_t initial_bytes = 16u << 20;  // of all initialisers together
};

// Parses what NVRTC emits and what inline assembly may add. Text that is no PTX, or passes a limit,
// is a rejection `gate.ptx_syntax` whose `where` is "ptx line N". An opcode the table lacks is no
// fault here.
Attempt<Module> parse(std::string_view text, const ParseLimits& limits = {});

}  // namespace cupilot::ptx
