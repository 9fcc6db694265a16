// Words, numbers and marks of PTX text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupilot::ptx {

// Thrown inside the parser only; parse() turns it into a rejection.
struct SyntaxError {
  std::uint32_t line = 0;
  std::string message;
};

enum class TokenKind : std::uint8_t { end, word, integer, float32, float64, text, mark };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;   // word (dots and "::" included), quoted text without quotes, or the mark
  std::uint64_t bits = 0;  // of a number
  bool is_unsigned = false;
  std::uint32_t line = 0;

  bool is(std::string_view spelling) const {
    return (kind == TokenKind::word || kind == TokenKind::mark) && text == spelling;
  }
  bool is(char mark) const { return kind == TokenKind::mark && text.front() == mark; }
};

// Walks over text that outlives it. One token of look-ahead.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  const Token& peek() const { return next_; }
  Token take() {
    Token out = next_;
    advance();
    return out;
  }
  template <class Spelling>
  bool accept(Spelling spelling) {
    if (!next_.is(spelling)) return false;
    advance();
    return true;
  }
  void expect(char spelling) {
    if (!accept(spelling)) fail_to_find(std::string_view(&spelling, 1));
  }
  std::string_view expect_word(std::string_view what);
  std::uint64_t expect_integer(std::string_view what);
  std::uint32_t line() const { return next_.line; }
  std::size_t bytes_left() const { return text_.size() - position_; }

 private:
  [[noreturn]] void fail_to_find(std::string_view spelling) const;
  void advance();
  void skip_space();
  void skip_comment();
  void take_until(TokenKind kind, std::size_t end, std::uint64_t bits = 0);
  std::size_t end_of_word() const;
  std::size_t end_of_digits(std::size_t from, int what) const;
  bool plain_number();  // false: number() has to look
  void number();
  void hex_float(std::size_t digits, TokenKind kind);
  void fraction(std::size_t end);
  void quoted();
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
  Token next_;
};

}  // namespace cupilot::ptx
