// Numbers that a kernel's text compares its arguments, or other whole numbers, with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot {

struct NamedSize {
  std::int64_t number = 0;
  std::uint32_t line = 0;     // of the comparison, in the PTX
  bool of_argument = false;   // one argument alone makes up the other side
  std::string entry{};        // whose argument it is
  int argument = -1;          // its place; -1: not known
  std::int64_t compared = 0;  // the number that stands in the text

  bool operator==(const NamedSize&) const = default;
};

// In order of the text: values of an argument at which a comparison with a constant changes, past
// `fewest` where it is none for equality; and numbers above 1 that other whole numbers are compared
// with for equality.
std::vector<NamedSize> named_sizes(std::string_view ptx, std::int64_t fewest = 64);

struct NamedValue {
  double value = 0;
  std::uint32_t line = 0;

  bool operator==(const NamedValue&) const = default;
};

// Floating values other than zero that others are compared with for equality, by numbers of fp32 or
// fp64 or by the bits of fp32, in order of the text.
std::vector<NamedValue> named_values(std::string_view ptx);

}  // namespace cupilot
