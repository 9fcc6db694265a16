// Pieces of the kernels' texts.
#pragma once

#include <cstdint>
#include <string>

#include "graphs/chains.hpp"

namespace cupilot::graphs {

// Device functions: roundings of operands and values, activations.
std::string helpers();
// Sums `count` terms `term`, which adds term (i) to acc, in one of five orders that the seed draws
// for a part.
std::string summed(std::uint64_t seed, int part, const std::string& term, const std::string& count);
// The rounding of the operands of operation `number`.
const char* operand_of(const Fault& fault, int number);

}  // namespace cupilot::graphs
