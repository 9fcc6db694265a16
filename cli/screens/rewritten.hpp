// Lines of a terminal that take the place of others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cupilot::cli {

// Returns what a terminal is sent so that these lines stand in the place of the last `before` ones;
// each is cut to `columns`.
inline std::string rewritten(const std::vector<std::string>& lines, std::size_t before,
                             std::size_t columns) {
  // To the beginning of the first of those lines; all behind it is erased.
  std::string text = before > 0 ? "\x1b[" + std::to_string(before) + "A\r\x1b[J" : "";
  for (const std::string& line : lines) text += line.substr(0, columns) + "\n";
  return text;
}

}  // namespace cupilot::cli
