// The instructions between which a function's registers hold values that may still be read.
// Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax/module.hpp"

namespace cupilot::ptx {

// Spans instructions in the order of the text: outside of [first, last] no thread reads what it
// wrote to the register. Two registers whose lifetimes do not meet may share a place.
struct Lifetime {
  std::uint32_t first = none_index, last = 0;  // first none_index: nothing names it
  // Shares no place: it may be read before its thread wrote it, or an instruction names it that
  // keeps its registers longer than it runs or reads those of threads that take no part.
  bool alone = false;
};

// Finds them for all registers of a function. An instruction's results live while its operands
// still do.
std::vector<Lifetime> lifetimes(const Module& module, const Function& function);

}  // namespace cupilot::ptx
