// Operands that tell arithmetic apart: edges of every kind, and random ones near and far from them.
#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

#include "ptx/conformance/number.hpp"

namespace conformance {

using Generator = std::mt19937_64;
using Arguments = std::array<u64, 5>;  // zeros behind the last

// Of one kind of operand (Form::arguments).
const std::vector<u64>& edges(char kind);
u64 random_value(char kind, Generator& generator);

// Every combination of edges as far as `most` reaches, then random ones, among them sums and
// products that nearly cancel.
std::vector<Arguments> cases(const std::string& kinds, std::size_t most);

}  // namespace conformance
