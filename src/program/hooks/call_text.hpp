// Calls within a text of C++.
#pragma once

#include <string>
#include <vector>

#include "task/identifiers.hpp"

namespace cupilot {

inline std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The arguments of the call whose '(' stands at `open`; `close`: the place of its ')'.
inline std::vector<std::string> arguments_at(const std::string& text, std::size_t open,
                                             std::size_t& close) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (close = open; close < text.size(); ++close) {
    const char c = text[close];
    if (c == ')' && --depth == 0) break;
    if (c == ',' && depth == 1)
      out.emplace_back();
    else if (close > open)
      out.back() += c;
    if (c == '(') ++depth;
  }
  for (std::string& one : out) one = trimmed(one);
  return out;
}

// Place of the '(' of the first call of `name` from `from` on; npos: there is none.
inline std::size_t find_call(const std::string& text, const std::string& name, std::size_t from) {
  for (std::size_t at = text.find(name, from); at != std::string::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_identifier_character(text[at - 1]);
    if (begins && end < text.size() && text[end] == '(') return end;
  }
  return std::string::npos;
}

// Arguments of every call of `name`.
inline std::vector<std::vector<std::string>> calls_of(const std::string& name,
                                                      const std::string& text) {
  std::vector<std::vector<std::string>> out;
  std::size_t close = 0;
  for (std::size_t open = find_call(text, name, 0); open != std::string::npos;
       open = find_call(text, name, close))
    out.push_back(arguments_at(text, open, close));
  return out;
}

}  // namespace cupilot
