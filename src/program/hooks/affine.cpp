#include "program/hooks/affine.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "task/identifiers.hpp"

namespace cupilot {
namespace {

using Number = Affine::Number;

Number sum(const Number& a, const Number& b) { return a && b ? Number(*a + *b) : std::nullopt; }
Number product(const Number& a, const Number& b) {
  if (a == 0 || b == 0) return 0;
  return a && b ? Number(*a * *b) : std::nullopt;
}

// Recursive descent over + - * / and brackets.
class Reader {
 public:
  Reader(const std::string& text, const AffineNames& names, int depth)
      : text_(text), names_(names), depth_(depth) {}

  std::optional<Affine> all() {
    auto out = added();
    skip();
    return at_ == text_.size() ? out : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char wanted) {
    skip();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::optional<Affine> added() {
    auto out = multiplied();
    while (out) {
      const bool minus = !take('+');
      if (minus && !take('-')) break;
      const auto next = multiplied();
      if (!next) return std::nullopt;
      out = plus(*out, scaled(*next, minus ? -1 : 1));
    }
    return out;
  }

  std::optional<Affine> multiplied() {
    auto out = single();
    while (out) {
      if (take('*')) {
        const auto next = single();
        if (!next || (!out->factors.empty() && !next->factors.empty())) return std::nullopt;
        out = next->factors.empty() ? scaled(*out, next->rest) : scaled(*next, out->rest);
      } else if (take('/')) {
        const auto next = single();
        if (!next || !next->factors.empty()) return std::nullopt;
        out = quotient(*out, next->rest);
      } else {
        break;
      }
    }
    return out;
  }

  std::optional<Affine> single() {
    if (take('(')) {
      auto out = added();
      return take(')') ? out : std::nullopt;
    }
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_identifier_character(text_[at_])) ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    skip();
    const bool calls = at_ < text_.size() && text_[at_] == '(';
    if (word.empty() || calls) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0)
      return Affine{{}, std::strtoll(word.c_str(), nullptr, 10)};
    if (names_.is_coordinate(word)) return Affine{{{word, 1}}, 0};
    const std::string constant = names_.constant(word);
    if (constant.empty()) return Affine{{}, std::nullopt};
    if (depth_ > 8) return std::nullopt;
    return Reader(constant, names_, depth_ + 1).all();
  }

  static Affine plus(const Affine& a, const Affine& b) {
    Affine out{a.factors, sum(a.rest, b.rest)};
    for (const auto& [name, factor] : b.factors) {
      const auto [own, added] = out.factors.emplace(name, factor);
      if (!added) own->second = sum(own->second, factor);
    }
    return out;
  }
  static Affine scaled(const Affine& a, const Number& by) {
    Affine out{{}, product(a.rest, by)};
    for (const auto& [name, factor] : a.factors) out.factors[name] = product(factor, by);
    return out;
  }
  std::optional<Affine> quotient(const Affine& of, const Number& by) const {
    if (by == 1) return of;
    if (of.factors.empty()) return Affine{{}, std::nullopt};
    const bool exact =
        by && std::any_of(names_.exact.begin(), names_.exact.end(),
                          [&](const ExactQuotient& one) { return one.by == *by && one.of == of; });
    if (!exact) return std::nullopt;
    Affine out{{}, std::nullopt};
    for (const auto& [name, factor] : of.factors) out.factors[name] = std::nullopt;
    return out;
  }

  const std::string& text_;
  const AffineNames& names_;
  const int depth_;
  std::size_t at_ = 0;
};

}  // namespace

bool Affine::is_known() const {
  return rest && std::all_of(factors.begin(), factors.end(),
                             [](const auto& factor) { return factor.second.has_value(); });
}

std::optional<Affine> affine_of(const std::string& text, const AffineNames& names) {
  return Reader(text, names, 0).all();
}

}  // namespace cupilot
