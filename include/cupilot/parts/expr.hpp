// The integer expression language of shapes, work, launches, domains, restrictions and dispatch
// guards.
// ?: || && == != < <= > >= + - * / % ! ( ), decimal int64, dotted names, min max cdiv up pow2 log2
// isqrt passes. Lazy ?: && ||. Division as in C, so a text exports verbatim to C++. At most 512
// bytes, nesting 32.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct Expr {
  std::string text = "0";

  Expr() = default;
  Expr(std::string source) : text(std::move(source)) {}      // NOLINT(google-explicit-constructor)
  Expr(const char* source) : text(source) {}                 // NOLINT(google-explicit-constructor)
  Expr(std::int64_t value) : text(std::to_string(value)) {}  // NOLINT(google-explicit-constructor)
  Expr(int value) : text(std::to_string(value)) {}           // NOLINT(google-explicit-constructor)
  bool operator==(const Expr&) const = default;
};

struct ExprFault {
  enum class Kind {
    syntax,
    unknown_name,
    circular,
    overflow,
    negative_dividend,
    zero_divisor,
    too_long,
    too_deep,
    not_yet  // a name that is known only after compiling, such as resident.L
  };
  Kind kind = Kind::syntax;
  int column = 0;  // 1-based, in bytes
  std::string message{};
};

using ExprValue = std::variant<std::int64_t, ExprFault>;
// Resolves a name; ExprFault{unknown_name} or {not_yet} when it cannot.
using ExprScope = std::function<ExprValue(std::string_view name)>;

ExprValue evaluate(const Expr& expr, const ExprScope& scope);

// Makes a scope of plain names; unknown ones give unknown_name.
ExprScope scope_of(const std::map<std::string, std::int64_t>& names);

// Adds lazily evaluated definitions (`let`) over `outer`; a definition that refers to itself is
// `circular`.
ExprScope scope_with(const ExprScope& outer, const std::vector<std::pair<std::string, Expr>>& lets);

// Returns the value, or Error{usage} that names the text, the column and the reason.
Result<std::int64_t> evaluate_or_error(const Expr& expr, const ExprScope& scope);

// Checks the syntax alone.
std::variant<std::monostate, ExprFault> check_syntax(const Expr& expr);

}  // namespace cupilot
CUPILOT_EXPORTS_END
