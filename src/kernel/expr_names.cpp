#include "kernel/expr_names.hpp"

namespace cupilot {
namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool inside_name(char c) { return begins_name(c) || (c >= '0' && c <= '9') || c == '.'; }

}  // namespace

std::set<std::string> names_in(std::string_view text, bool calls) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    while (i < text.size() && inside_name(text[i])) ++i;
    if (i == start) {
      ++i;
      continue;
    }
    if (!begins_name(text[start])) continue;  // a number
    const std::size_t after = text.find_first_not_of(' ', i);
    const bool called = after != std::string_view::npos && text[after] == '(';
    if (calls || !called) names.emplace(text.substr(start, i - start));
  }
  return names;
}

}  // namespace cupilot
