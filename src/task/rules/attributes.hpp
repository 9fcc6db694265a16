// Attributes of an operation as its row has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

// The attribute as C++ text of a stage; "": it is no number.
std::string literal(const Attribute& value);

// True for attributes that may be texts of expressions over axes.
bool is_told_in_text(std::string_view name);

// The expressions of such a text, which commas part: "b, heads, t, d".
std::vector<Expr> extents_in(const std::string& text);

// The value as the row's default has it: a whole number may stand for a real one. `options`: words
// that it may be, or null; `otherwise`: the default, or null. Error usage says what it is not.
Result<Attribute> fitted(const std::string& name, const Attribute& value,
                         const std::vector<std::string>* options, const Attribute* otherwise);

}  // namespace cupilot
