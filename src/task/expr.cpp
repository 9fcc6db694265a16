#include <cupilot/parts/expr.hpp>

#include <cupilot/runtime/expression.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>

#include "base/expr_parse.hpp"

namespace cupilot {
namespace {

using Kind = ExprFault::Kind;

// Chains of definitions longer than this are refused, so that a hostile plan cannot exhaust the
// stack.
constexpr int max_chain = 256;

bool no_value(ExprFault* why, Kind kind, const char* text, std::int64_t number) {
  if (why != nullptr) *why = {kind, 0, fmt::format(fmt::runtime(text), number)};
  return false;
}

bool checked(bool overflow, ExprFault* why) {
  return !overflow || no_value(why, Kind::overflow, "the result does not fit 64 bits", 0);
}

// pow2(a): the least power of two >= a, 1 for 0. log2(a): the floor of the logarithm, a >= 1.
bool power(ExprOp op, std::int64_t a, std::int64_t& out, ExprFault* why) {
  if (a < 0) return no_value(why, Kind::negative_dividend, "of a negative number, {}", a);
  const auto bits = static_cast<std::uint64_t>(a);
  if (op == ExprOp::log2) {
    if (a == 0) return no_value(why, Kind::zero_divisor, "log2 of 0", 0);
    out = static_cast<std::int64_t>(std::bit_width(bits)) - 1;
    return true;
  }
  if (a > (std::int64_t{1} << 62)) return checked(true, why);
  out = static_cast<std::int64_t>(std::bit_ceil(bits));
  return true;
}

bool quotient(ExprOp op, std::int64_t a, std::int64_t b, std::int64_t& out, ExprFault* why) {
  if (a < 0) return no_value(why, Kind::negative_dividend, "division of a negative number, {}", a);
  if (b <= 0) return no_value(why, Kind::zero_divisor, "division by {}", b);
  out = op == ExprOp::modulo ? a % b : a / b;
  if (op == ExprOp::divide || op == ExprOp::modulo) return true;
  out += a % b != 0 ? 1 : 0;
  return op == ExprOp::cdiv || checked(__builtin_mul_overflow(out, b, &out), why);
}

bool wavefronts(const ExprOperands& of, std::int64_t& out, ExprFault* why) {
  for (std::size_t i = 1; i < of.size(); ++i) {  // less than one row is one
    if (of[i] < 0)
      return no_value(why, Kind::negative_dividend, "passes of a negative number, {}", of[i]);
  }
  out = runtime::shared_passes(of[0], of[1], of[2], of[3], of[4]);
  return out > 0 ||
         no_value(why, Kind::zero_divisor,
                  "passes wants a width of 1 to 128, a swizzle of 0, 1, 2, 4 or 8 and a step of at "
                  "most 64",
                  0);
}

}  // namespace

bool apply(ExprOp op, const ExprOperands& of, std::int64_t& out, ExprFault* why) {
  const std::int64_t a = of[0], b = of[1];
  switch (op) {
    case ExprOp::negate:
      return checked(__builtin_sub_overflow(std::int64_t{0}, a, &out), why);
    case ExprOp::multiply:
      return checked(__builtin_mul_overflow(a, b, &out), why);
    case ExprOp::add:
      return checked(__builtin_add_overflow(a, b, &out), why);
    case ExprOp::subtract:
      return checked(__builtin_sub_overflow(a, b, &out), why);
    case ExprOp::pow2:
    case ExprOp::log2:
      return power(op, a, out, why);
    case ExprOp::isqrt:
      out = runtime::square_root(a);
      return out >= 0 || no_value(why, Kind::negative_dividend, "isqrt of {}, below 0", a);
    case ExprOp::passes:
      return wavefronts(of, out, why);
    case ExprOp::divide:
    case ExprOp::modulo:
    case ExprOp::cdiv:
    case ExprOp::up:
      return quotient(op, a, b, out, why);
    case ExprOp::logical_not:
      out = a == 0;
      return true;
    case ExprOp::less:
      out = a < b;
      return true;
    case ExprOp::less_equal:
      out = a <= b;
      return true;
    case ExprOp::greater:
      out = a > b;
      return true;
    case ExprOp::greater_equal:
      out = a >= b;
      return true;
    case ExprOp::equal:
      out = a == b;
      return true;
    case ExprOp::not_equal:
      out = a != b;
      return true;
    case ExprOp::min:
      out = a < b ? a : b;
      return true;
    case ExprOp::max:
      out = a > b ? a : b;
      return true;
    default:
      return no_value(why, Kind::syntax, "not an operation of numbers", 0);
  }
}

namespace {

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
        fault->message = fault->kind == Kind::not_yet
                             ? fmt::format("'{}' is known only after compiling", node.name)
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
    ExprOperands operands{};
    for (std::size_t i = 0; i < most_operands && node.child[i] >= 0; ++i) {
      ExprValue got = value(node.child[i]);
      if (std::holds_alternative<ExprFault>(got)) return got;
      operands[i] = std::get<std::int64_t>(got);
    }
    std::int64_t out = 0;
    ExprFault why;
    if (apply(node.op, operands, out, &why)) return out;
    why.column = node.column;
    return why;
  }

  const ExprTree& tree_;
  const ExprScope& scope_;
};

using Lets = std::vector<std::pair<std::string, Expr>>;

// One lookup through definitions: what is being evaluated (to see circles) and what already was (to
// stay linear).
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
    ExprValue result =
        evaluate(lets[i].second, [this](std::string_view inner) { return answer(inner); });
    open.pop_back();
    if (auto* fault = std::get_if<ExprFault>(&result);
        fault != nullptr && fault->message.size() < 512) {
      fault->message = fmt::format("in '{}' = \"{}\", column {}: {}", name, lets[i].second.text,
                                   fault->column, fault->message);
    }
    done.emplace(i, result);
    return result;
  }
};

}  // namespace

namespace {

struct ParsedText {
  explicit ParsedText(const std::string& of) : text(of), parsed(parse_expr(text)) {}
  const std::string text;  // names in the tree point into it
  const std::variant<ExprTree, ExprFault> parsed;
};

// Parses a text, or returns the parsed one: a template's few texts are evaluated for every
// strategy. Shared, because evaluating one may parse others, which may clear the cache.
std::shared_ptr<const ParsedText> parsed(const std::string& text) {
  constexpr std::size_t most_kept = 1024;
  thread_local std::unordered_map<std::string_view, std::shared_ptr<const ParsedText>> kept;
  if (const auto found = kept.find(text); found != kept.end()) return found->second;
  if (kept.size() >= most_kept) kept.clear();
  auto made = std::make_shared<const ParsedText>(text);
  return kept.emplace(made->text, made).first->second;
}

}  // namespace

ExprValue evaluate(const Expr& expr, const ExprScope& scope) {
  const auto held = parsed(expr.text);
  if (const auto* fault = std::get_if<ExprFault>(&held->parsed)) return *fault;
  const ExprTree& tree = std::get<ExprTree>(held->parsed);
  return Evaluator(tree, scope).value(tree.root);
}

ExprScope scope_of(const std::map<std::string, std::int64_t>& names) {
  // Shared: a scope is copied wherever it is passed on.
  const auto shared = std::make_shared<const std::map<std::string, std::int64_t, std::less<>>>(
      names.begin(), names.end());
  return [shared](std::string_view name) -> ExprValue {
    const auto found = shared->find(name);
    if (found == shared->end())
      return ExprFault{Kind::unknown_name, 0, fmt::format("unknown name '{}'", name)};
    return found->second;
  };
}

ExprScope scope_with(const ExprScope& outer, const Lets& lets) {
  const auto shared = std::make_shared<const Lets>(lets);
  return [outer, shared](std::string_view name) -> ExprValue {
    Lookup lookup{outer, *shared, {}, {}};
    return lookup.answer(name);
  };
}

Result<std::int64_t> evaluate_or_error(const Expr& expr, const ExprScope& scope) {
  const ExprValue value = evaluate(expr, scope);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto& fault = std::get<ExprFault>(value);
  return Error{ErrorCode::usage,
               fmt::format("expression \"{}\", column {}: {}", expr.text.substr(0, 512),
                           fault.column, fault.message),
               "see docs/formats/expr.md for the language"};
}

std::variant<std::monostate, ExprFault> check_syntax(const Expr& expr) {
  auto parsed = parse_expr(expr.text);
  if (auto* fault = std::get_if<ExprFault>(&parsed)) return std::move(*fault);
  return std::monostate{};
}

}  // namespace cupilot
