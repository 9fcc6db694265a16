#include "task/rules/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "task/rules/tidy.hpp"

namespace cupilot::rules {

Error unfit(const std::string& reason) {
  return {ErrorCode::usage, reason, "docs/formats/operators.md lists the rules"};
}

std::optional<std::int64_t> number_in(const Expr& expr) {
  std::int64_t value = 0;
  const char* const end = expr.text.data() + expr.text.size();
  const auto [stop, code] = std::from_chars(expr.text.data(), end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string bracketed(const Expr& expr) {
  const bool plain = std::all_of(expr.text.begin(), expr.text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  return plain ? expr.text : "(" + expr.text + ")";
}

Expr times(const Expr& a, const Expr& b) {
  const auto x = number_in(a), y = number_in(b);
  if (x && y) return *x * *y;
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  return bracketed(a) + "*" + bracketed(b);
}

Expr plus(const Expr& a, std::int64_t b) {
  if (const auto x = number_in(a)) return *x + b;
  if (b == 0) return a;
  return bracketed(a) + (b < 0 ? fmt::format(" - {}", -b) : fmt::format(" + {}", b));
}

Expr sum(const Expr& a, const Expr& b) {
  if (const auto y = number_in(b)) return plus(a, *y);
  if (const auto x = number_in(a)) return plus(b, *x);
  return bracketed(a) + " + " + bracketed(b);
}

Expr difference(const Expr& a, const Expr& b) {
  if (const auto y = number_in(b)) return plus(a, -*y);
  return a.text == b.text ? Expr(0) : Expr(bracketed(a) + " - " + bracketed(b));
}

Expr divided(const Expr& a, std::int64_t b) {
  if (b == 1) return a;
  if (const auto x = number_in(a); x && *x >= 0) return *x / b;
  return fmt::format("{}/{}", bracketed(a), b);
}

std::int64_t integer(const RuleCall& call, const char* name) {
  const auto found = call.attributes.find(name);
  if (found == call.attributes.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? 0 : *value;
}

std::vector<std::int64_t> integers(const RuleCall& call, const char* name) {
  const auto found = call.attributes.find(name);
  if (found == call.attributes.end()) return {};
  if (const auto* one = std::get_if<std::int64_t>(&found->second)) return {*one};
  const auto* values = std::get_if<std::vector<std::int64_t>>(&found->second);
  return values == nullptr ? std::vector<std::int64_t>() : *values;
}

std::string word(const RuleCall& call, const char* name) {
  const auto found = call.attributes.find(name);
  const auto* value =
      found == call.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return value == nullptr ? std::string() : *value;
}

Expr told_number(const RuleCall& call, const char* name) {
  const std::string text = word(call, name);
  return text.empty() ? Expr(std::max<std::int64_t>(integer(call, name), 1)) : Expr(text);
}

bool has(const RuleCall& call, const char* name) { return call.attributes.count(name) != 0; }

std::vector<std::int64_t> spread(std::vector<std::int64_t> values, std::size_t rank,
                                 std::int64_t otherwise) {
  if (values.empty()) values.push_back(otherwise);
  if (values.size() == 1) values.resize(rank, values[0]);
  return values;
}

Result<std::size_t> dimension(std::int64_t dim, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (dim < -signed_rank || dim >= signed_rank)
    return unfit(fmt::format("dimension {} of {}", dim, rank));
  return static_cast<std::size_t>(dim < 0 ? dim + signed_rank : dim);
}

Expr product_of_range(const ExprShape& shape, std::size_t begin, std::size_t end) {
  Expr all = 1;
  for (std::size_t d = begin; d < end; ++d) all = times(all, shape[d]);
  return all;
}

std::vector<std::string> all_names(const std::vector<StageAxis>& axes) {
  std::vector<std::string> names;
  for (const StageAxis& axis : axes) names.push_back(axis.name);
  return names;
}

std::vector<StageAxis> numbered(const ExprShape& shape, const char* letter) {
  std::vector<StageAxis> axes;
  for (const Expr& extent : shape)
    axes.push_back({fmt::format("{}{}", letter, axes.size()), extent});
  return axes;
}

bool alike(const RuleCall& call, const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (call.equal == nullptr) return false;
  const auto x = call.equal->number(a), y = call.equal->number(b);
  if (!x || x != y) return false;
  call.equal->products.push_back({{a}, {b}});
  return true;
}

bool alike(const RuleCall& call, const ExprShape& a, const ExprShape& b) {
  if (a.size() != b.size()) return false;
  const std::size_t noted = call.equal == nullptr ? 0 : call.equal->products.size();
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (alike(call, a[d], b[d])) continue;
    if (call.equal != nullptr) call.equal->products.resize(noted);
    return false;
  }
  return true;
}

void keep(const RuleCall& call, const Expr& extent) {
  if (call.equal != nullptr) call.equal->kept.push_back(extent);
}

void note_places(const RuleCall& call, const RuleInput& index, const Expr& extent) {
  if (!alike(call, extent, index.below)) keep(call, extent);
}

Result<ExprShape> broadcast(const RuleCall& call, const std::vector<ExprShape>& shapes) {
  std::size_t rank = 0;
  for (const ExprShape& shape : shapes) rank = std::max(rank, shape.size());
  ExprShape out(rank, 1);
  for (const ExprShape& shape : shapes) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      Expr& extent = out[rank - shape.size() + d];
      if (is_one(extent)) extent = shape[d];
      if (!is_one(shape[d]) && !alike(call, extent, shape[d]))
        return unfit(fmt::format("extents {} and {} differ", extent.text, shape[d].text));
    }
  }
  return out;
}

Result<void> note_broadcast(const RuleCall& call, const RuleInput& input, const ExprShape& into) {
  if (call.equal == nullptr) return {};
  const auto all = broadcast(call, {into, input.shape});
  if (all && all->size() == into.size()) return {};
  return unfit("input " + input.name + " has another shape");
}

std::vector<std::string> broadcast_at(const ExprShape& shape, const std::vector<std::string>& at) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.push_back(is_one(shape[d]) ? "0" : at[at.size() - shape.size() + d]);
  return out;
}

Result<Expr> part_of(const RuleCall& call, RuleResult& out, const Expr& whole, const Expr& count,
                     const char* elements) {
  const auto number = number_in(count);
  const auto exact = quotient_of(whole, count);
  const Expr part = exact    ? *exact
                    : number ? divided(whole, *number)
                             : Expr(bracketed(whole) + "/" + bracketed(count));
  if (call.equal != nullptr) {
    call.equal->multiples.emplace_back(whole, count);
    return part;
  }
  if (!number && !exact)
    return unfit(
        fmt::format("{} {} are no product of {} groups", whole.text, elements, count.text));
  if (!number)
    out.agreements.push_back({"there are", count, fmt::format("max({}, 1)", count.text), "groups"});
  out.agreements.push_back(
      {fmt::format("{} groups take", count.text), times(count, part), whole, elements});
  return part;
}

void must_agree(RuleResult& out, const RuleInput& input, const Expr& elements) {
  out.agreements.push_back({input.name + " has",
                            product_of_range(input.shape, 0, input.shape.size()), elements,
                            "elements"});
}

}  // namespace cupilot::rules
