// Conditions as Python writes them, in our integer language.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <cupilot/parts/expr.hpp>

namespace cupilot {

// What cannot be said in the other language, and what to write instead.
struct Untranslated {
  int column = 0;  // from 1, in bytes
  std::string reason, fix;
};

// Names, whole numbers, True and False, + - * // %, comparisons and chains of them, and or not, in
// and not in a list, x if c else y, min, max, parentheses. `/` is a fraction in Python, so it is
// not taken.
std::variant<Expr, Untranslated> expr_from_python(std::string_view text);

}  // namespace cupilot
