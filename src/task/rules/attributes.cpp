#include "task/rules/attributes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cupilot {
namespace {

// JSON has no number for these; an attribute says them as words.
constexpr std::pair<std::string_view, const char*> special_numbers[] = {
    {"inf", "real(infinity_())"}, {"-inf", "real(-infinity_())"}, {"nan", "real(nan_())"}};

bool is_special(const Attribute& value) {
  return std::holds_alternative<std::string>(value) && !literal(value).empty();
}

}  // namespace

std::string literal(const Attribute& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}ll", *number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("real({:a})", *number);
  if (const auto* word = std::get_if<std::string>(&value)) {
    for (const auto& [name, text] : special_numbers) {
      if (*word == name) return text;
    }
  }
  return "";
}

bool is_told_in_text(std::string_view name) {
  return name == "shape" || name == "start" || name == "length" || name == "groups";
}

std::vector<Expr> extents_in(const std::string& text) {
  std::vector<Expr> out;
  int depth = 0;
  std::string one;
  for (const char c : text + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      const std::size_t begin = one.find_first_not_of(' '), end = one.find_last_not_of(' ');
      if (begin != std::string::npos) out.emplace_back(one.substr(begin, end - begin + 1));
      one.clear();
    } else {
      one += c;
    }
  }
  return out;
}

Result<Attribute> fitted(const std::string& name, const Attribute& value,
                         const std::vector<std::string>* options, const Attribute* otherwise) {
  const auto bad = [&](const std::string& wanted) {
    return Error{ErrorCode::usage, fmt::format("attribute '{}' is no {}", name, wanted),
                 "docs/formats/operators.md says how each is written"};
  };
  if (options != nullptr) {
    const auto* word = std::get_if<std::string>(&value);
    if (word != nullptr && std::find(options->begin(), options->end(), *word) != options->end())
      return value;
    return bad(fmt::format("word among {}", fmt::join(*options, ", ")));
  }
  if (otherwise == nullptr) return value;
  const bool real = std::holds_alternative<double>(*otherwise) || is_special(*otherwise);
  if (real) {
    if (const auto* whole = std::get_if<std::int64_t>(&value))
      return Attribute(static_cast<double>(*whole));
    if (std::holds_alternative<double>(value) || is_special(value)) return value;
    return bad("number");
  }
  const bool is_list = std::holds_alternative<std::vector<std::int64_t>>(value);
  const bool is_number = std::holds_alternative<std::int64_t>(value);
  if (is_told_in_text(name) && std::holds_alternative<std::string>(value)) return value;
  if (std::holds_alternative<std::int64_t>(*otherwise) && !is_number && !is_list)
    return bad("whole number");
  if (std::holds_alternative<std::vector<std::int64_t>>(*otherwise) && !is_number && !is_list)
    return bad("list of whole numbers");
  return value;
}

}  // namespace cupilot
