#include "program/hooks/slots.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace cupilot {
namespace {

constexpr std::int64_t quotient = 9, square_root = 8, power = 40;

const std::map<std::string_view, std::int64_t> calls = {
    {"exp_", 8},    {"exp2_", 4},   {"expm1_", 14},    {"log_", 12},   {"log2_", 11},
    {"log10_", 13}, {"log1p_", 16}, {"sqrt_", 8},      {"rsqrt_", 10}, {"tanh_", 16},
    {"erf_", 18},   {"erfc_", 24},  {"sin_", 24},      {"cos_", 24},   {"tan_", 30},
    {"asin_", 16},  {"acos_", 16},  {"atan_", 18},     {"atan2_", 28}, {"sinh_", 18},
    {"cosh_", 18},  {"asinh_", 24}, {"acosh_", 24},    {"atanh_", 24}, {"fmod_", 30},
    {"max_", 1},    {"min_", 1},    {"maxn_", 1},      {"minn_", 1},   {"floor_", 1},
    {"ceil_", 1},   {"rint_", 1},   {"trunc_", 1},     {"sign_", 2},   {"copysign_", 1},
    {"isnan_", 1},  {"bits_", 1},   {"from_bits_", 1}, {"select_", 1}, {"place_", 1}};

// Calls that are their argument.
const std::set<std::string_view> casts = {"real", "double", "float", "int", "bool"};

// still: of the same value for all elements of a row, so that it is computed once.
struct Term {
  std::int64_t slots = 0;
  std::optional<double> known{};
  bool still = false;
};

Term known(double value) { return {0, value, true}; }

// A term of `slots` of its own and of others.
Term made(std::int64_t slots, std::span<const Term> from) {
  Term term{slots, {}, true};
  for (const Term& one : from) {
    term.slots += one.slots;
    term.still = term.still && one.still;
  }
  if (term.still) term.slots = 0;
  return term;
}

Term made(std::int64_t slots, std::initializer_list<Term> from) {
  return made(slots, std::span(from.begin(), from.size()));
}

using NameSet = std::set<std::string>;

struct Scope {
  std::map<std::string, double> known{};
  const NameSet& still;
};

class Reader {
 public:
  // `text` ends with a zero.
  Reader(std::string_view text, const Scope& scope, NameSet& used)
      : text_(text), scope_(scope), used_(used) {}

  // Nothing where the text is no expression that it knows.
  std::optional<Term> all() {
    const Term term = choice();
    space();
    return failed_ || at_ != text_.size() ? std::nullopt : std::optional(term);
  }

 private:
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(std::string_view sign) {
    space();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  // A side that a known condition leaves out is read without its names.
  Term unused(Term (Reader::*read)()) {
    NameSet kept = used_;
    (this->*read)();
    used_ = std::move(kept);
    return known(0);
  }

  // Too deep a text is none that it knows.
  bool enters() {
    if (++nesting_ <= 200) return true;
    failed_ = true;
    at_ = text_.size();
    return false;
  }

  Term choice() {
    if (!enters()) return {};
    const Term term = chosen();
    --nesting_;
    return term;
  }

  Term chosen() {
    const Term condition = either();
    if (!take("?")) return condition;
    if (condition.known) {
      const bool first = *condition.known != 0;
      const Term yes = first ? choice() : unused(&Reader::choice);
      if (!take(":")) failed_ = true;
      const Term no = first ? unused(&Reader::choice) : choice();
      return first ? yes : no;
    }
    const Term yes = choice();
    if (!take(":")) failed_ = true;
    const Term no = choice();
    return made(1, {condition, yes, no});
  }

  // `&&` and `||`: `decides` is the value of a side that is known and decides.
  Term logical(std::string_view sign, bool decides, Term (Reader::*read)()) {
    Term left = (this->*read)();
    while (take(sign)) {
      if (left.known && (*left.known != 0) == decides) {
        unused(read);
        left = known(decides ? 1 : 0);
        continue;
      }
      const Term right = (this->*read)();
      if (left.known) {
        left = right;
      } else if (right.known) {
        if ((*right.known != 0) == decides) left = right;
      } else {
        left = made(1, {left, right});
      }
    }
    return left;
  }

  Term either() { return logical("||", true, &Reader::both); }
  Term both() { return logical("&&", false, &Reader::comparison); }

  Term comparison() {
    Term left = sum();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      const Term right = sum();
      if (!left.known || !right.known) return made(1, {left, right});
      const double a = *left.known, b = *right.known;
      const bool holds = sign == "=="   ? a == b
                         : sign == "!=" ? a != b
                         : sign == "<=" ? a <= b
                         : sign == ">=" ? a >= b
                         : sign == "<"  ? a < b
                                        : a > b;
      return known(holds ? 1 : 0);
    }
    return left;
  }

  Term sum() {
    Term left = product();
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return left;
      const Term right = product();
      if (left.known && right.known) {
        left = known(plus ? *left.known + *right.known : *left.known - *right.known);
      } else if (right.known == 0.0) {
        continue;
      } else if (left.known == 0.0 && plus) {
        left = right;
      } else {
        left = made(1, {left, right});
      }
    }
  }

  static Term divided(const Term& left, const Term& right) {
    if (left.known && right.known) return known(*left.known / *right.known);
    if (right.known == 1.0) return left;
    int exponent = 0;
    const bool shifts = right.known && std::abs(std::frexp(*right.known, &exponent)) == 0.5;
    return made(shifts ? 1 : quotient, {left, right});
  }

  Term product() {
    Term left = sign();
    for (;;) {
      if (take("*")) {
        const Term right = sign();
        if (left.known && right.known) {
          left = known(*left.known * *right.known);
        } else if (left.known == 1.0 || right.known == 1.0) {
          left = left.known ? right : left;
        } else {
          left = made(1, {left, right});
        }
      } else if (take("/")) {
        left = divided(left, sign());
      } else if (take("%")) {
        const Term right = sign();
        left = made(quotient, {left, right});
      } else {
        return left;
      }
    }
  }

  Term sign() {
    if (!enters()) return {};
    const Term term = signed_term();
    --nesting_;
    return term;
  }

  Term signed_term() {
    if (take("-")) {
      const Term term = sign();
      return term.known ? known(-*term.known) : term;
    }
    space();
    if (text_.substr(at_, 2) != "!=" && take("!")) {
      const Term term = sign();
      return term.known ? known(*term.known == 0 ? 1 : 0) : term;
    }
    return primary();
  }

  Term primary() {
    if (take("(")) {
      const Term term = choice();
      if (!take(")")) failed_ = true;
      return term;
    }
    space();
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
    const std::string name = identifier();
    if (name.empty()) {
      failed_ = true;
      return {};
    }
    return take("(") ? call(name) : named(name);
  }

  Term number() {
    const char* const begin = text_.data() + at_;
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    if (end == begin) failed_ = true;
    at_ += static_cast<std::size_t>(end - begin);
    while (at_ < text_.size() && std::string_view("fFlLuU").find(text_[at_]) != text_.npos) ++at_;
    return known(value);
  }

  std::string identifier() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Term named(const std::string& name) {
    if (name == "true" || name == "false") return known(name == "true" ? 1 : 0);
    used_.insert(name);
    const auto value = scope_.known.find(name);
    return value != scope_.known.end() ? known(value->second)
                                       : Term{0, {}, scope_.still.contains(name)};
  }

  Term call(const std::string& name) {
    used_.insert(name);
    const bool is_cast = casts.contains(name);
    const auto price = calls.find(name);
    const bool counts = is_cast || price != calls.end() || name == "pow_";
    std::vector<Term> given;
    if (!take(")")) {
      do given.push_back(choice());
      while (take(","));
      if (!take(")")) failed_ = true;
    }
    if (is_cast && given.size() == 1) return given.front();
    if (!counts) return {};
    std::int64_t slots = price != calls.end() ? price->second : power;
    if (name == "pow_" && given.size() == 2 && given[1].known) slots = power_by(*given[1].known);
    return made(slots, given);
  }

  static std::int64_t power_by(double exponent) {
    if (exponent == 0.5) return square_root;
    const bool few = exponent == std::trunc(exponent) && exponent >= 1 && exponent <= 4;
    return few ? static_cast<std::int64_t>(std::ceil(std::log2(exponent))) : power;
  }

  std::string_view text_;
  const Scope& scope_;
  NameSet& used_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  bool failed_ = false;
};

}  // namespace

std::int64_t slots_of(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& constants,
                      const NameSet& still, NameSet& used) {
  if (text.empty()) return 0;
  constexpr std::size_t letters = 12;  // of a text that is not understood, a slot
  Scope scope{.known = {}, .still = still};
  for (const auto& [name, value] : constants) {
    NameSet ignored;
    const auto term = Reader(value, scope, ignored).all();
    if (term && term->known) scope.known[name] = *term->known;  // else an index, which costs little
  }
  NameSet met;
  const auto term = Reader(text, scope, met).all();
  used.insert(met.begin(), met.end());
  return term ? term->slots : 2 + static_cast<std::int64_t>(text.size() / letters);
}

GraphSlots graph_slots(const Task& task, const GraphSite& site) {
  const auto& stages = task.reference.stages;
  GraphSlots all;
  if (site.stages.size() != stages.size()) return all;  // not laid out
  std::vector<bool> needed(stages.size()), in_term(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i)
    needed[i] = std::any_of(task.tensors.begin(), task.tensors.end(),
                            [&](const Tensor& tensor) { return tensor.name == stages[i].name; });
  for (std::size_t i = stages.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const SiteStage& stage = site.stages[i];
    const bool maps = stages[i].kind == StageKind::map;
    NameSet still, in_terms, used;
    for (const SiteRead& read : stage.reads) {
      if (read.kind == SiteRead::Kind::row || read.kind == SiteRead::Kind::whole)
        still.insert(read.name);
    }
    const bool of_row = stage.place == StagePlace::row && maps;
    const NameSet none;
    const std::int64_t term =
        slots_of(stage.term, stages[i].constants, of_row ? none : still, in_terms) + (maps ? 0 : 1);
    const std::int64_t finish = slots_of(stage.finish, stages[i].constants, none, used);
    used.insert(in_terms.begin(), in_terms.end());
    const bool whole = stage.place == StagePlace::whole;  // of a row's value at most
    const bool of_operand = maps && in_term[i];
    const bool of_elements = stage.place == StagePlace::full || (!maps && !whole) || of_operand;
    (of_elements ? all.element : all.row) += term;
    if (of_operand) all.operand += term;
    all.row += whole ? 0 : finish;
    for (const auto* reads : {&stage.reads, &stage.called}) {
      for (const SiteRead& read : *reads) {
        if (read.stage < 0 || !used.contains(read.name)) continue;
        const auto source = static_cast<std::size_t>(read.stage);
        needed[source] = true;
        if (maps ? of_operand : read.kind == SiteRead::Kind::other && in_terms.contains(read.name))
          in_term[source] = true;
      }
    }
  }
  return all;
}

}  // namespace cupilot
