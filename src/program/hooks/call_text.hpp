// Calls within a text of C++.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
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

// 0: the text is no plain number.
inline std::int64_t whole_number(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return plain ? std::strtoll(text.c_str(), nullptr, 10) : 0;
}

// Place of a word outside of all brackets; npos: there is none.
inline std::size_t outer_place(const std::string& text, const std::string& wanted) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0 && text.compare(at, wanted.size(), wanted) == 0) return at;
  }
  return std::string::npos;
}

// The conditions that must all hold; names of conditions are replaced by their texts.
inline std::vector<std::string> clauses_of(
    const std::string& condition,
    const std::vector<std::pair<std::string, std::string>>& constants) {
  std::vector<std::string> out;
  std::string rest = condition;
  while (!rest.empty()) {
    const auto both = outer_place(rest, "&&");
    const std::string one = trimmed(rest.substr(0, both));
    rest = both == std::string::npos ? "" : rest.substr(both + 2);
    const auto named = std::find_if(constants.begin(), constants.end(),
                                    [&](const auto& constant) { return constant.first == one; });
    const auto parts = named == constants.end() ? std::vector<std::string>{one}
                                                : clauses_of(named->second, constants);
    out.insert(out.end(), parts.begin(), parts.end());
  }
  return out;
}

}  // namespace cupilot
