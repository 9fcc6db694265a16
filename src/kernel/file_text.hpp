// A whole file of text.
#pragma once

#include <fstream>
#include <optional>
#include <string>

namespace cupilot {

// nullopt when it cannot be read; a folder cannot.
inline std::optional<std::string> file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text;
  char piece[4096];
  while (in.read(piece, sizeof piece) || in.gcount() > 0)
    text.append(piece, static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return std::nullopt;
  return text;
}

}  // namespace cupilot
