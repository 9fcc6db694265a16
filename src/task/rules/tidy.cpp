#include "task/rules/tidy.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expr_parse.hpp"

namespace cupilot {
namespace {

// Beyond as many terms a sum of products is no shorter than what it came from.
constexpr std::size_t most_terms = 256;

// Factors of a product, sorted: names, and texts of quotients and calls.
using Product = std::vector<std::string>;
// Each product with how often it is added.
using Sum = std::map<Product, std::int64_t>;
using MaybeSum = std::optional<Sum>;

bool add_to(Sum& sum, const Product& product, std::int64_t number) {
  std::int64_t& all = sum[product];
  if (__builtin_add_overflow(all, number, &all)) return false;
  if (all == 0) sum.erase(product);
  return sum.size() <= most_terms;
}

MaybeSum added(Sum a, const Sum& b, std::int64_t sign) {
  for (const auto& [product, number] : b) {
    std::int64_t signed_number = 0;
    if (__builtin_mul_overflow(number, sign, &signed_number) || !add_to(a, product, signed_number))
      return std::nullopt;
  }
  return a;
}

MaybeSum multiplied(const Sum& a, const Sum& b) {
  Sum out;
  for (const auto& [left, times] : a) {
    for (const auto& [right, more] : b) {
      Product both = left;
      both.insert(both.end(), right.begin(), right.end());
      std::sort(both.begin(), both.end());
      std::int64_t number = 0;
      if (__builtin_mul_overflow(times, more, &number) || !add_to(out, both, number))
        return std::nullopt;
    }
  }
  return out;
}

Sum constant(std::int64_t value) { return value == 0 ? Sum{} : Sum{{{}, value}}; }
Sum factor(std::string text) { return {{{std::move(text)}, 1}}; }

std::string text_of(const Product& product, std::uint64_t number) {
  std::string out = number == 1 && !product.empty() ? "" : std::to_string(number);
  for (const std::string& one : product) out += (out.empty() ? "" : "*") + one;
  return out;
}

// Products first, the number last; a term that is added begins where there is one.
std::string text_of(const Sum& sum) {
  std::string out;
  const auto append = [&](const Product& product, std::int64_t number) {
    const std::string text = text_of(product, number < 0 ? 0 - static_cast<std::uint64_t>(number)
                                                         : static_cast<std::uint64_t>(number));
    if (out.empty())
      out = (number < 0 ? "-" : "") + text;
    else
      out += (number < 0 ? " - " : " + ") + text;
  };
  for (const bool negative : {false, true}) {
    for (const auto& [product, number] : sum) {
      if (!product.empty() && (number < 0) == negative) append(product, number);
    }
  }
  if (const auto alone = sum.find({}); alone != sum.end()) append({}, alone->second);
  return out.empty() ? "0" : out;
}

std::int64_t floor_of(std::int64_t a, std::int64_t by) {
  return a / by - static_cast<std::int64_t>(a % by < 0);
}

// Takes out of the quotient what the divisor divides whole, if what stays is never negative.
Sum divided(const Sum& sum, std::int64_t by) {
  Sum whole, rest;
  for (const auto& [product, number] : sum) {
    if (product.empty()) continue;
    if (number % by == 0)
      whole[product] = number / by;
    else
      rest[product] = number;
  }
  const bool known =
      std::all_of(rest.begin(), rest.end(), [](const auto& term) { return term.second > 0; });
  if (!known) return factor("((" + text_of(sum) + ")/" + std::to_string(by) + ")");
  const auto alone = sum.find({});
  const std::int64_t number = alone == sum.end() ? 0 : alone->second;
  const std::int64_t out = floor_of(number, by);
  if (out != 0) whole[{}] = out;
  if (rest.empty()) return whole;
  if (number != out * by) rest[{}] = number - out * by;
  const std::string text = text_of(rest);
  const bool plain = rest.size() == 1 && rest.begin()->second == 1;
  whole[{(plain ? "(" + text : "((" + text + ")") + "/" + std::to_string(by) + ")"}] = 1;
  return whole;
}

class Tidier {
 public:
  explicit Tidier(const ExprTree& tree) : tree_(tree) {}

  MaybeSum sum(int index) {
    const ExprNode& node = tree_.nodes[static_cast<std::size_t>(index)];
    switch (node.op) {
      case ExprOp::literal:
        return constant(node.value);
      case ExprOp::name:
        return factor(std::string(node.name));
      case ExprOp::negate:
      case ExprOp::add:
      case ExprOp::subtract:
      case ExprOp::multiply:
      case ExprOp::divide:
        return arithmetic(node);
      case ExprOp::min:
        return call("min", node);
      case ExprOp::max:
        return call("max", node);
      case ExprOp::cdiv:
        return call("cdiv", node);
      default:
        return std::nullopt;
    }
  }

 private:
  MaybeSum arithmetic(const ExprNode& node) {
    MaybeSum a = sum(node.child[0]);
    if (!a) return a;
    if (node.op == ExprOp::negate) return added({}, *a, -1);
    MaybeSum b = sum(node.child[1]);
    if (!b) return b;
    if (node.op == ExprOp::multiply) return multiplied(*a, *b);
    if (node.op != ExprOp::divide) return added(*a, *b, node.op == ExprOp::add ? 1 : -1);
    const bool number = b->size() == 1 && b->begin()->first.empty();
    if (number && b->begin()->second > 0) return divided(*a, b->begin()->second);
    return factor("((" + text_of(*a) + ")/(" + text_of(*b) + "))");
  }

  MaybeSum call(const std::string& name, const ExprNode& node) {
    const MaybeSum a = sum(node.child[0]), b = sum(node.child[1]);
    if (!a || !b) return std::nullopt;
    return factor(name + "(" + text_of(*a) + ", " + text_of(*b) + ")");
  }

  const ExprTree& tree_;
};

}  // namespace

Expr tidied(const Expr& expr) {
  const auto parsed = parse_expr(expr.text);
  const auto* tree = std::get_if<ExprTree>(&parsed);
  if (tree == nullptr) return expr;
  const MaybeSum sum = Tidier(*tree).sum(tree->root);
  return sum ? Expr(text_of(*sum)) : expr;
}

namespace {

// Parts of a text between "*" that no bracket holds; the whole where other operators join it.
std::vector<std::string> product_parts(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && std::string_view("+-/%<>=!?:&|,").find(c) != std::string_view::npos)
      return {text};
    if (depth == 0 && c == '*')
      parts.emplace_back();
    else if (c != ' ' || depth > 0)
      parts.back() += c;
  }
  return parts;
}

// Takes away a bracket that holds all of a text.
std::string without_bracket(const std::string& text) {
  if (!text.starts_with('(')) return text;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size() ? text.substr(1, i - 1) : text;
  }
  return text;
}

}  // namespace

std::vector<Expr> factors_in(const Expr& expr) {
  const std::string text = without_bracket(expr.text);
  const auto parts = product_parts(text);
  std::vector<Expr> out;
  if (parts.size() == 1 && text == expr.text) {
    const Expr tidy = tidied(text);
    if (tidy.text == "1") return out;
    if (tidy.text == text || tidy.text == "(" + text + ")") return {expr};
    return factors_in(tidy);
  }
  for (const std::string& part : parts) {
    for (Expr& factor : factors_in(part)) out.push_back(std::move(factor));
  }
  return out;
}

Expr product_text(const std::vector<Expr>& factors) {
  if (factors.size() == 1) return factors.front();
  std::string out;
  for (const Expr& one : factors) {
    const bool plain = one.text.find_first_of(" +-/(") == std::string::npos;
    out += (out.empty() ? "" : "*") + (plain ? one.text : "(" + one.text + ")");
  }
  return out.empty() ? "1" : out;
}

std::optional<Expr> quotient_of(const Expr& product, const Expr& by) {
  // Takes the numbers out of factors and multiplies them.
  const auto number_of = [](std::vector<Expr>& factors) {
    std::optional<std::int64_t> all = 1;
    std::erase_if(factors, [&](const Expr& one) {
      const bool number = one.text.find_first_not_of("0123456789") == std::string::npos;
      std::int64_t value = 0;
      if (!number) return false;
      const auto [end, code] =
          std::from_chars(one.text.data(), one.text.data() + one.text.size(), value);
      if (code != std::errc() || !all || __builtin_mul_overflow(*all, value, &*all)) all.reset();
      return true;
    });
    return all;
  };
  auto rest = factors_in(product), divisors = factors_in(by);
  const auto whole = number_of(rest), part = number_of(divisors);
  if (!whole || !part || *part == 0 || *whole % *part != 0) return std::nullopt;
  for (const Expr& one : divisors) {
    const auto found = std::find(rest.begin(), rest.end(), one);
    if (found == rest.end()) return std::nullopt;
    rest.erase(found);
  }
  if (*whole != *part) rest.insert(rest.begin(), *whole / *part);
  return product_text(rest);
}

Expr KnownExtents::text_of(const Expr& extent) {
  const Expr tidy = tidied(extent);
  return texts_.try_emplace(tidy.text, extent.text.size() > longest ? tidy : extent).first->second;
}

}  // namespace cupilot
