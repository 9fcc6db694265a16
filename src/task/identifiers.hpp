// Identifiers within a text of C++ or of the expression language.
#pragma once

#include <cctype>
#include <optional>
#include <string>

namespace cupilot {

inline bool is_identifier_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// `text` with each run of characters that `belongs` takes replaced by what `of(run)` says: an
// optional<std::string>, nullopt to keep the run.
template <class Belongs, class Of>
std::string renamed_runs(const std::string& text, Belongs belongs, Of of) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!belongs(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    const std::string run = text.substr(at, end - at);
    const std::optional<std::string> other = of(run);
    out += other ? *other : run;
    at = end;
  }
  return out;
}

// Replaces words of letters, digits and '_'.
template <class Of>
std::string renamed(const std::string& text, Of of) {
  return renamed_runs(text, is_identifier_character, of);
}

// Replaces an expression's names, which may hold dots ("elem.x"), and no number.
template <class Of>
std::string renamed_names(const std::string& text, Of of) {
  const auto belongs = [](char c) { return is_identifier_character(c) || c == '.'; };
  return renamed_runs(text, belongs, [&](const std::string& run) -> std::optional<std::string> {
    const bool number = std::isdigit(static_cast<unsigned char>(run[0])) != 0 || run[0] == '.';
    return number ? std::nullopt : of(run);
  });
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
