// Sources read as text: what the tests of this folder look at.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cupilot::testing {

namespace fs = std::filesystem;

inline const fs::path source_root = CUPILOT_SOURCE_DIR;

// The text with raw strings emptied, line by line in place: they hold generated programs, not this
// one.
inline std::string without_raw_strings(std::string text) {
  for (std::size_t at = 0; (at = text.find("R\"", at)) != std::string::npos;) {
    const std::size_t open = text.find('(', at);
    if (open == std::string::npos) break;
    const std::string closing = fmt::format("){}\"", text.substr(at + 2, open - at - 2));
    const std::size_t close = text.find(closing, open);
    if (close == std::string::npos) break;
    std::replace_if(
        text.begin() + static_cast<std::ptrdiff_t>(open),
        text.begin() + static_cast<std::ptrdiff_t>(close), [](char c) { return c != '\n'; }, ' ');
    at = close;
  }
  return text;
}

inline std::vector<std::string> lines_of(const fs::path& file) {
  std::ostringstream whole;
  whole << std::ifstream(file).rdbuf();
  std::istringstream stream(without_raw_strings(whole.str()));
  std::vector<std::string> lines;
  for (std::string text; std::getline(stream, text);) lines.push_back(text);
  return lines;
}

inline std::vector<fs::path> sources_under(const fs::path& folder) {
  std::vector<fs::path> all;
  if (!fs::exists(folder)) return all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file() && (path.extension() == ".hpp" || path.extension() == ".cpp"))
      all.push_back(path);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace cupilot::testing
