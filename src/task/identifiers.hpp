// Identifiers within a text of C++ or of the expression language.
#pragma once

#include <cctype>
#include <optional>
#include <string>

namespace cupilot {

inline bool is_identifier_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// `text` with each word of letters, digits and '_' replaced by what `of(word)` says: an
// optional<std::string>, nullopt to keep the word.
template <class Of>
std::string renamed(const std::string& text, Of of) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_identifier_character(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_identifier_character(text[end])) ++end;
    const std::string word = text.substr(at, end - at);
    const std::optional<std::string> other = of(word);
    out += other ? *other : word;
    at = end;
  }
  return out;
}

// True if `text` holds `name` as a word.
inline bool uses(const std::string& text, const std::string& name) {
  bool found = false;
  renamed(text, [&](const std::string& word) -> std::optional<std::string> {
    found = found || word == name;
    return std::nullopt;
  });
  return found;
}

}  // namespace cupilot
