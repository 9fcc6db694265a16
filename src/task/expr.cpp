#include <cupilot/expr.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "task/expr_parse.hpp"

namespace cupilot {
namespace {

using Kind = ExprFault::Kind;

// Chains of definitions longer than this are refused, so that a hostile plan cannot exhaust the stack.
constexpr int max_chain = 256;

class Evaluator {
 public:
  Evaluator(const ExprTree& tree, const ExprScope& scope) : tree_(tree), scope_(scope) {}

  ExprValue value(int index) const {
    const ExprNode& node = tree_.nodes[static_cast<std::size_t>(index)];
    switch (node.op) {
      case ExprOp::literal:
        return node.value;
      case ExprOp::name:
        return name(node);
      case ExprOp::logical_and:
      case ExprOp::logical_or:
      case ExprOp::choose:
        return lazy(node);
      default:
        return strict(node);
    }
  }

 private:
  ExprValue name(const ExprNode& node) const {
    ExprValue answer = scope_ ? scope_(node.name) : ExprValue(ExprFault{Kind::unknown_name, 0, ""});
    if (auto* fault = std::get_if<ExprFault>(&answer)) {
      fault->column = node.column;
      if (fault->message.empty()) {
        fault->message = fault->kind == Kind::not_yet ? fmt::format("'{}' is known only after compiling", node.name)
                                                      : fmt::format("unknown name '{}'", node.name);
      }
    }
    return answer;
  }

  ExprValue lazy(const ExprNode& node) const {
    ExprValue first = value(node.child[0]);
    const auto* decided = std::get_if<std::int64_t>(&first);
    if (decided == nullptr) return first;
    if (node.op == ExprOp::choose) return value(*decided != 0 ? node.child[1] : node.child[2]);
    const bool stops_at = node.op == ExprOp::logical_or;
    if ((*decided != 0) == stops_at) return std::int64_t{stops_at};
    const ExprValue second = value(node.child[1]);
    const auto* right = std::get_if<std::int64_t>(&second);
    return right == nullptr ? second : ExprValue(std::int64_t{*right != 0});
  }

  ExprValue strict(const ExprNode& node) const {
    std::int64_t operand[2] = {0, 0};
    for (std::size_t i = 0; i < 2 && node.child[i] >= 0; ++i) {
      ExprValue got = value(node.child[i]);
      if (std::holds_alternative<ExprFault>(got)) return got;
      operand[i] = std::get<std::int64_t>(got);
    }
    return apply(node, operand[0], operand[1]);
  }

  static ExprValue apply(const ExprNode& node, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    switch (node.op) {
      case ExprOp::negate:
        return checked(node, __builtin_sub_overflow(std::int64_t{0}, a, &out), out);
      case ExprOp::logical_not:
        return std::int64_t{a == 0};
      case ExprOp::multiply:
        return checked(node, __builtin_mul_overflow(a, b, &out), out);
      case ExprOp::add:
        return checked(node, __builtin_add_overflow(a, b, &out), out);
      case ExprOp::subtract:
        return checked(node, __builtin_sub_overflow(a, b, &out), out);
      case ExprOp::less:
        return std::int64_t{a < b};
      case ExprOp::less_equal:
        return std::int64_t{a <= b};
      case ExprOp::greater:
        return std::int64_t{a > b};
      case ExprOp::greater_equal:
        return std::int64_t{a >= b};
      case ExprOp::equal:
        return std::int64_t{a == b};
      case ExprOp::not_equal:
        return std::int64_t{a != b};
      case ExprOp::min:
        return a < b ? a : b;
      case ExprOp::max:
        return a > b ? a : b;
      case ExprOp::pow2:
      case ExprOp::log2:
        return power(node, a);
      default:
        return quotient(node, a, b);
    }
  }

  // pow2(a): the least power of two >= a, 1 for 0. log2(a): the floor of the logarithm, a >= 1.
  static ExprValue power(const ExprNode& node, std::int64_t a) {
    if (a < 0) return ExprFault{Kind::negative_dividend, node.column, fmt::format("of a negative number, {}", a)};
    const auto bits = static_cast<std::uint64_t>(a);
    if (node.op == ExprOp::log2) {
      if (a == 0) return ExprFault{Kind::zero_divisor, node.column, "log2 of 0"};
      return static_cast<std::int64_t>(std::bit_width(bits)) - 1;
    }
    if (a > (std::int64_t{1} << 62)) return checked(node, true, 0);
    return static_cast<std::int64_t>(std::bit_ceil(bits));
  }

  static ExprValue quotient(const ExprNode& node, std::int64_t a, std::int64_t b) {
    if (a < 0) return ExprFault{Kind::negative_dividend, node.column, fmt::format("division of a negative number, {}", a)};
    if (b <= 0) return ExprFault{Kind::zero_divisor, node.column, fmt::format("division by {}", b)};
    if (node.op == ExprOp::divide) return a / b;
    if (node.op == ExprOp::modulo) return a % b;
    const std::int64_t ceiling = a / b + (a % b != 0 ? 1 : 0);
    if (node.op == ExprOp::cdiv) return ceiling;
    std::int64_t out = 0;
    return checked(node, __builtin_mul_overflow(ceiling, b, &out), out);
  }

  // By reference: an argument that computes the value may be evaluated after this one.
  static ExprValue checked(const ExprNode& node, bool overflow, const std::int64_t& value) {
    if (overflow) return ExprFault{Kind::overflow, node.column, "the result does not fit 64 bits"};
    return value;
  }

  const ExprTree& tree_;
  const ExprScope& scope_;
};

using Lets = std::vector<std::pair<std::string, Expr>>;

// One lookup through definitions: what is being evaluated (to see circles) and what already was (to stay linear).
struct Lookup {
  const ExprScope& outer;
  const Lets& lets;
  std::vector<std::size_t> open;
  std::map<std::size_t, ExprValue> done;

  ExprValue answer(std::string_view name) {
    for (std::size_t i = 0; i < lets.size(); ++i) {
      if (lets[i].first == name) return definition(i);
    }
    return outer ? outer(name) : ExprValue(ExprFault{Kind::unknown_name, 0, ""});
  }

  ExprValue definition(std::size_t i) {
    if (const auto known = done.find(i); known != done.end()) return known->second;
    const std::string& name = lets[i].first;
    for (const std::size_t other : open) {
      if (other == i) return ExprFault{Kind::circular, 0, fmt::format("'{}' needs itself", name)};
    }
    if (open.size() >= static_cast<std::size_t>(max_chain)) {
      return ExprFault{Kind::too_deep, 0, "a chain of more than 256 definitions"};
    }
    open.push_back(i);
    ExprValue result = evaluate(lets[i].second, [this](std::string_view inner) { return answer(inner); });
    open.pop_back();
    if (auto* fault = std::get_if<ExprFault>(&result); fault != nullptr && fault->message.size() < 512) {
      fault->message = fmt::format("in '{}' = \"{}\", column {}: {}", name, lets[i].second.text, fault->column, fault->message);
    }
    done.emplace(i, result);
    return result;
  }
};

}  // namespace

ExprValue evaluate(const Expr& expr, const ExprScope& scope) {
  const auto parsed = parse_expr(expr.text);
  if (const auto* fault = std::get_if<ExprFault>(&parsed)) return *fault;
  const ExprTree& tree = std::get<ExprTree>(parsed);
  return Evaluator(tree, scope).value(tree.root);
}

ExprScope scope_of(const std::map<std::string, std::int64_t>& names) {
  return [names](std::string_view name) -> ExprValue {
    const auto found = names.find(std::string(name));
    if (found == names.end()) return ExprFault{Kind::unknown_name, 0, fmt::format("unknown name '{}'", name)};
    return found->second;
  };
}

ExprScope scope_with(const ExprScope& outer, const Lets& lets) {
  return [outer, lets](std::string_view name) -> ExprValue {
    Lookup lookup{outer, lets, {}, {}};
    return lookup.answer(name);
  };
}

Result<std::int64_t> evaluate_or_error(const Expr& expr, const ExprScope& scope) {
  const ExprValue value = evaluate(expr, scope);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto& fault = std::get<ExprFault>(value);
  return Error{ErrorCode::usage,
               fmt::format("expression \"{}\", column {}: {}", expr.text.substr(0, 512), fault.column, fault.message),
               "see docs/formats/expr.md for the language"};
}

std::variant<std::monostate, ExprFault> check_syntax(const Expr& expr) {
  auto parsed = parse_expr(expr.text);
  if (auto* fault = std::get_if<ExprFault>(&parsed)) return std::move(*fault);
  return std::monostate{};
}

}  // namespace cupilot
