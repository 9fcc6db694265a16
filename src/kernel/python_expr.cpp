#include "kernel/python_expr.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include <fmt/core.h>

namespace cupilot {
namespace {

struct Token {
  enum class Kind { name, number, sign, end };
  Kind kind = Kind::end;
  std::string_view text;
  int column = 0;
};

constexpr std::array<std::string_view, 20> signs = {"**", "//", "<=", ">=", "==", "!=", "<",
                                                    ">",  "+",  "-",  "*",  "/",  "%",  "(",
                                                    ")",  "[",  "]",  ",",  "&",  "|"};

// How tightly an expression of our language binds; what binds looser is put in parentheses.
enum Binding { choice = 1, either, both, equality, order, sum, product, unary, whole };

struct Piece {
  std::string text;
  Binding binding = whole;
};

std::string inside(const Piece& piece, int least) {
  return piece.binding < least ? "(" + piece.text + ")" : piece.text;
}

Piece joined(const Piece& a, std::string_view sign, const Piece& b, Binding binding) {
  return {fmt::format("{} {} {}", inside(a, binding), sign, inside(b, binding + 1)), binding};
}

class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) { advance(); }

  std::variant<Expr, Untranslated> run() {
    const Piece piece = ternary();
    if (token_.kind != Token::Kind::end)
      fail("unexpected '" + std::string(token_.text) + "'", "one condition an entry");
    if (fault_) return *fault_;
    const Expr expr(piece.text);
    const auto checked = check_syntax(expr);
    if (const auto* fault = std::get_if<ExprFault>(&checked))
      return Untranslated{1, fault->message, "split the condition"};
    return expr;
  }

 private:
  void fail(std::string reason, std::string fix) {
    if (!fault_) fault_ = Untranslated{token_.column, std::move(reason), std::move(fix)};
    at_ = text_.size();
    token_ = {Token::Kind::end, "", token_.column};
  }

  void advance() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::size_t start = at_;
    const auto take = [&](Token::Kind kind, std::size_t end) {
      at_ = end;
      token_ = {kind, text_.substr(start, end - start), static_cast<int>(start) + 1};
    };
    if (at_ == text_.size()) return take(Token::Kind::end, at_);
    const auto word = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    std::size_t end = at_;
    while (end < text_.size() && word(text_[end])) ++end;
    if (end > start) {
      const bool digit =
          std::isdigit(static_cast<unsigned char>(text_[start])) != 0 || text_[start] == '.';
      return take(digit ? Token::Kind::number : Token::Kind::name, end);
    }
    for (const std::string_view sign : signs) {
      if (text_.substr(start).starts_with(sign))
        return take(Token::Kind::sign, start + sign.size());
    }
    take(Token::Kind::sign, start + 1);
    fail(fmt::format("'{}' has no meaning here", text_.substr(start, 1)),
         "write conditions over parameters and whole numbers");
  }

  bool take(std::string_view text) {
    if (token_.kind == Token::Kind::end || token_.text != text) return false;
    advance();
    return true;
  }
  void want(std::string_view text) {
    if (!take(text)) fail(fmt::format("'{}' is missing", text), "check the parentheses");
  }

  // x if c else y
  Piece ternary() {
    const Deeper deeper(*this);
    Piece yes = disjunction();
    if (!take("if")) return yes;
    const Piece condition = disjunction();
    want("else");
    const Piece no = ternary();
    return {fmt::format("{} ? {} : {}", inside(condition, either), inside(yes, either),
                        inside(no, choice)),
            choice};
  }

  Piece disjunction() {
    Piece left = conjunction();
    while (take("or")) left = joined(left, "||", conjunction(), either);
    return left;
  }

  Piece conjunction() {
    Piece left = negation();
    while (take("and")) left = joined(left, "&&", negation(), both);
    return left;
  }

  Piece negation() {
    if (!take("not")) return comparison();
    const Deeper deeper(*this);
    return {"!" + inside(negation(), unary), unary};
  }

  // a < b <= c means a < b and b <= c.
  Piece comparison() {
    Piece left = arithmetic();
    std::optional<Piece> all;
    while (true) {
      const Piece before = left;
      std::optional<Piece> one;
      if (const std::string_view sign = comparison_sign(); !sign.empty()) {
        left = arithmetic();
        one = joined(before, sign, left, sign == "==" || sign == "!=" ? equality : order);
      } else if (token_.text == "in" || token_.text == "not") {
        one = membership(before);
      }
      if (!one) return all ? *all : left;
      all = all ? joined(*all, "&&", *one, both) : *one;
    }
  }

  std::string_view comparison_sign() {
    for (const std::string_view sign : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (token_.kind == Token::Kind::sign && take(sign)) return sign;
    }
    return {};
  }

  // x in [1, 2] means x == 1 || x == 2.
  Piece membership(const Piece& value) {
    const bool inverted = take("not");
    want("in");
    const bool square = token_.text == "[";
    if (!square && token_.text != "(") fail("'in' wants a list", "write it out: x in [1, 2, 4]");
    advance();
    Piece any{"0", whole};
    bool first = true;
    while (token_.kind != Token::Kind::end && token_.text != "]" && token_.text != ")") {
      const Piece equal = joined(value, "==", arithmetic(), equality);
      any = first ? equal : joined(any, "||", equal, either);
      first = false;
      if (!take(",")) break;
    }
    want(square ? "]" : ")");
    return inverted ? Piece{"!" + inside(any, unary), unary} : any;
  }

  Piece arithmetic() {
    Piece left = term();
    while (token_.text == "+" || token_.text == "-") {
      const std::string sign(token_.text);
      advance();
      left = joined(left, sign, term(), sum);
    }
    if (token_.text == "&" || token_.text == "|")
      fail("bits are not taken apart here", "write `and`, `or`, or % and //");
    return left;
  }

  Piece term() {
    Piece left = factor();
    while (token_.text == "*" || token_.text == "//" || token_.text == "%" || token_.text == "/") {
      if (token_.text == "/") {
        fail("'/' makes fractions in Python",
             "write // where whole division is meant, or multiply both sides");
        return left;
      }
      const std::string sign = token_.text == "//" ? "/" : std::string(token_.text);
      advance();
      left = joined(left, sign, factor(), product);
    }
    if (token_.text == "**")
      fail("'**' has no counterpart", "write the product, or list the values");
    return left;
  }

  Piece factor() {
    const Deeper deeper(*this);
    if (take("-")) return {"-" + inside(factor(), whole), unary};
    if (take("+")) return factor();
    if (take("(")) {
      const Piece piece = ternary();
      want(")");
      return piece;
    }
    if (token_.kind == Token::Kind::number) return number();
    if (token_.kind == Token::Kind::name) return name();
    fail(token_.kind == Token::Kind::end ? "the condition ends early"
                                         : "unexpected '" + std::string(token_.text) + "'",
         "a name or a whole number belongs here");
    return {};
  }

  Piece number() {
    const std::string text(token_.text);
    if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      fail(fmt::format("'{}' is no decimal whole number", text),
           "scale the condition to whole numbers");
      return {};
    }
    advance();
    return {text, whole};
  }

  Piece name() {
    const std::string text(token_.text);
    if (text == "True" || text == "False") {
      advance();
      return {text == "True" ? "1" : "0", whole};
    }
    if (text == "lambda" || text.find('.') != std::string::npos) {
      fail(fmt::format("'{}' is code", text), "write the condition over parameter names alone");
      return {};
    }
    const Token at = token_;
    advance();
    if (token_.text == "[") {
      fail(fmt::format("'{}[…]' is code", text), "write the parameter's name alone");
      return {};
    }
    if (token_.text != "(") return {text, whole};
    if (text != "min" && text != "max") {
      token_ = at;
      fail(fmt::format("there is no function '{}'", text),
           "min and max there are; list the values otherwise");
      return {};
    }
    return call(text);
  }

  // Ours take two.
  Piece call(const std::string& function) {
    want("(");
    std::string all = ternary().text;
    if (token_.text != ",") fail(fmt::format("{} of one value", function), "name two or more");
    while (take(",")) all = fmt::format("{}({}, {})", function, all, ternary().text);
    want(")");
    return {all, whole};
  }

  // Keeps recursion to what our language can nest.
  struct Deeper {
    explicit Deeper(Translator& t) : translator(t) {
      if (++translator.depth_ > 64) translator.fail("nested too deeply", "split the condition");
    }
    ~Deeper() { --translator.depth_; }
    Deeper(const Deeper&) = delete;
    Translator& translator;
  };

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Token token_;
  std::optional<Untranslated> fault_;
};

}  // namespace

std::variant<Expr, Untranslated> expr_from_python(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Untranslated{1, "the condition is empty", "remove it"};
  return Translator(text).run();
}

}  // namespace cupilot
