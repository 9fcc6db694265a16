#include "base/expr_parse.hpp"

#include <optional>
#include <span>
#include <string>

namespace cupilot {
namespace {

constexpr std::size_t max_bytes = 4096;
constexpr int max_depth = 32;
constexpr ExprNode::Children no_children = {-1, -1, -1, -1, -1};

struct Binary {
  std::string_view text;
  ExprOp op;
};

// Precedence levels, loosest first. Within a level the longer spelling stands first.
constexpr Binary level_or[] = {{"||", ExprOp::logical_or}};
constexpr Binary level_and[] = {{"&&", ExprOp::logical_and}};
constexpr Binary level_equal[] = {{"==", ExprOp::equal}, {"!=", ExprOp::not_equal}};
constexpr Binary level_order[] = {{"<=", ExprOp::less_equal},
                                  {">=", ExprOp::greater_equal},
                                  {"<", ExprOp::less},
                                  {">", ExprOp::greater}};
constexpr Binary level_sum[] = {{"+", ExprOp::add}, {"-", ExprOp::subtract}};
constexpr Binary level_product[] = {
    {"*", ExprOp::multiply}, {"/", ExprOp::divide}, {"%", ExprOp::modulo}};
constexpr std::array<std::span<const Binary>, 6> levels = {level_or,    level_and, level_equal,
                                                           level_order, level_sum, level_product};

struct Function {
  std::string_view name;
  ExprOp op;
  int arity;
  int most = arity;  // with what may be left out: the last argument counts again
};
constexpr Function functions[] = {{"min", ExprOp::min, 2},     {"max", ExprOp::max, 2},
                                  {"cdiv", ExprOp::cdiv, 2},   {"up", ExprOp::up, 2},
                                  {"pow2", ExprOp::pow2, 1},   {"log2", ExprOp::log2, 1},
                                  {"isqrt", ExprOp::isqrt, 1}, {"passes", ExprOp::passes, 4, 5}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Recursive descent. After a fault every function returns -1 and the callers fall through.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::variant<ExprTree, ExprFault> run() {
    tree_.root = choice();
    skip_space();
    if (!fault_ && at_ < text_.size()) fail(ExprFault::Kind::syntax, at_, "unexpected " + here());
    if (fault_) return *fault_;
    return std::move(tree_);
  }

 private:
  int choice() {
    if (++depth_ > max_depth) return fail(ExprFault::Kind::too_deep, at_, "nested deeper than 32");
    int result = binary(0);
    skip_space();
    if (!fault_ && peek("?")) {
      const std::size_t mark = at_++;
      const int yes = choice();
      if (!expect(":")) return -1;
      result = node(ExprOp::choose, mark, {result, yes, choice(), -1, -1});
    }
    --depth_;
    return result;
  }

  int binary(std::size_t level) {
    if (level == levels.size()) return unary();
    int left = binary(level + 1);
    while (!fault_) {
      skip_space();
      const Binary* found = nullptr;
      for (const Binary& row : levels[level]) {
        if (found == nullptr && peek(row.text)) found = &row;
      }
      if (found == nullptr) break;
      const std::size_t mark = at_;
      at_ += found->text.size();
      left = node(found->op, mark, {left, binary(level + 1), -1, -1, -1});
    }
    return left;
  }

  int unary() {
    skip_space();
    const std::size_t mark = at_;
    ExprOp op = ExprOp::negate;
    if (peek("!") && !peek("!=")) {
      op = ExprOp::logical_not;
    } else if (!peek("-")) {
      return primary();
    }
    // C++ would read "--" as a decrement, and texts export verbatim.
    if (op == ExprOp::negate && at_ > 0 && text_[at_ - 1] == '-') {
      return fail(ExprFault::Kind::syntax, at_,
                  "'--' is no operator; put a space or parentheses between");
    }
    if (++depth_ > max_depth) return fail(ExprFault::Kind::too_deep, at_, "nested deeper than 32");
    ++at_;
    const int result = node(op, mark, {unary(), -1, -1, -1, -1});
    --depth_;
    return result;
  }

  int primary() {
    skip_space();
    if (at_ >= text_.size())
      return fail(ExprFault::Kind::syntax, at_, "a value is missing at the end");
    if (is_digit(text_[at_])) return number();
    if (is_letter(text_[at_])) return name_or_call();
    if (!peek("("))
      return fail(ExprFault::Kind::syntax, at_, "a value is missing before " + here());
    ++at_;
    const int inner = choice();
    return expect(")") ? inner : -1;
  }

  int number() {
    const std::size_t mark = at_;
    std::int64_t value = 0;
    bool overflow = false;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      overflow |= __builtin_mul_overflow(value, std::int64_t{10}, &value);
      overflow |= __builtin_add_overflow(value, std::int64_t{text_[at_] - '0'}, &value);
    }
    if (overflow) return fail(ExprFault::Kind::overflow, mark, "the number does not fit 64 bits");
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) {
      return fail(ExprFault::Kind::syntax, at_,
                  "numbers are decimal integers; unexpected " + here());
    }
    const int index = node(ExprOp::literal, mark, no_children);
    if (index >= 0) tree_.nodes[static_cast<std::size_t>(index)].value = value;
    return index;
  }

  int name_or_call() {
    const std::size_t mark = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool dot = c == '.' && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]);
      if (!is_letter(c) && !is_digit(c) && !dot) break;
      ++at_;
    }
    const std::string_view name = text_.substr(mark, at_ - mark);
    skip_space();
    if (peek("(")) return call(name, mark);
    const int index = node(ExprOp::name, mark, no_children);
    if (index >= 0) tree_.nodes[static_cast<std::size_t>(index)].name = name;
    return index;
  }

  int call(std::string_view name, std::size_t mark) {
    const Function* function = nullptr;
    for (const Function& row : functions) {
      if (row.name == name) function = &row;
    }
    if (function == nullptr) {
      return fail(ExprFault::Kind::unknown_name, mark,
                  "unknown function '" + std::string(name) +
                      "'; there are min max cdiv up pow2 log2 isqrt passes");
    }
    ++at_;
    ExprNode::Children child = no_children;
    for (int i = 0; i < function->most; ++i) {
      const auto at = static_cast<std::size_t>(i);
      skip_space();
      if (i >= function->arity && !peek(",")) {
        child[at] = child[at - 1];
        continue;
      }
      if (i > 0 && !expect(",")) return -1;
      child[at] = choice();
    }
    return expect(")") ? node(function->op, mark, child) : -1;
  }

  bool peek(std::string_view word) const { return text_.substr(at_, word.size()) == word; }

  bool expect(std::string_view word) {
    skip_space();
    if (!fault_ && !peek(word)) {
      fail(ExprFault::Kind::syntax, at_, "'" + std::string(word) + "' expected, found " + here());
    }
    at_ += word.size();
    return !fault_;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }

  std::string here() const {
    if (at_ >= text_.size()) return "the end";
    const char c = text_[at_];
    if (c < ' ' || c > '~') return "a byte outside ASCII";
    return std::string("'") + c + "'";
  }

  int node(ExprOp op, std::size_t mark, ExprNode::Children child) {
    if (fault_) return -1;
    tree_.nodes.push_back({op, static_cast<int>(mark) + 1, 0, {}, child});
    return static_cast<int>(tree_.nodes.size()) - 1;
  }

  int fail(ExprFault::Kind kind, std::size_t mark, std::string message) {
    if (!fault_) fault_ = ExprFault{kind, static_cast<int>(mark) + 1, std::move(message)};
    return -1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  ExprTree tree_;
  std::optional<ExprFault> fault_;
};

}  // namespace

std::variant<ExprTree, ExprFault> parse_expr(std::string_view text) {
  if (text.size() > max_bytes) {
    return ExprFault{ExprFault::Kind::too_long, static_cast<int>(max_bytes) + 1,
                     "longer than 4096 bytes"};
  }
  return Parser(text).run();
}

}  // namespace cupilot
