#include "ptx/lexer.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>

namespace cupilot::ptx {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  return "'" + std::string(token.text.substr(0, 60)) + "'";
}

}  // namespace

Token Lexer::expect(std::string_view spelling) {
  if (!next_.is(spelling)) throw SyntaxError{next_.line, "expected '" + std::string(spelling) + "' but found " + shown(next_)};
  return take();
}

std::string_view Lexer::expect_word(std::string_view what) {
  if (next_.kind != TokenKind::word)
    throw SyntaxError{next_.line, "expected " + std::string(what) + " but found " + shown(next_)};
  return take().text;
}

std::uint64_t Lexer::expect_integer(std::string_view what) {
  if (next_.kind != TokenKind::integer)
    throw SyntaxError{next_.line, "expected " + std::string(what) + " but found " + shown(next_)};
  return take().bits;
}

void Lexer::skip_space() {
  for (;;) {
    const char c = at(position_);
    if (c == '\n') {
      ++line_;
      ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '/') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == '/' && at(position_ + 1) == '*') {
      const std::size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) throw SyntaxError{line_, "a comment is never closed"};
      for (; position_ < end; ++position_) line_ += text_[position_] == '\n' ? 1 : 0;
      position_ = end + 2;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_space();
  const std::uint32_t line = line_;
  const char c = at(position_);
  if (position_ >= text_.size()) {
    next_ = {};
  } else if (is_letter(c) || (c == '.' && is_letter(at(position_ + 1)))) {
    next_ = word();
  } else if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) {
    if (c == '.' || !plain_number()) next_ = number();
  } else if (c == '"') {
    next_ = quoted();
  } else {
    constexpr std::string_view marks = "{}()[]<>,;:@!|+-*/=~&^?";
    if (marks.find(c) == std::string_view::npos) {
      constexpr char digits[] = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      throw SyntaxError{line_, std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15] + " has no place in PTX"};
    }
    next_ = {TokenKind::mark, text_.substr(position_, 1)};
    ++position_;
  }
  next_.line = line;
}

// A word holds its dots: an opcode with modifiers, a directive, or a name. "::" belongs to it when a letter or digit follows.
Token Lexer::word() {
  const std::size_t start = position_++;
  for (;;) {
    const char c = at(position_);
    if (is_letter(c) || is_digit(c)) {
      ++position_;
    } else if (c == '.' && (is_letter(at(position_ + 1)) || is_digit(at(position_ + 1)))) {
      position_ += 2;
    } else if (c == ':' && at(position_ + 1) == ':' && (is_letter(at(position_ + 2)) || is_digit(at(position_ + 2)))) {
      position_ += 3;
    } else {
      break;
    }
  }
  return {TokenKind::word, text_.substr(start, position_ - start)};
}

Token Lexer::hex_float(int digits, TokenKind kind) {
  const std::size_t start = position_;
  position_ += 2;
  std::uint64_t bits = 0;
  for (int i = 0; i < digits; ++i, ++position_) {
    const char c = at(position_);
    if (!is_hex(c)) throw SyntaxError{line_, "a hexadecimal float needs " + std::to_string(digits) + " digits"};
    bits = bits * 16 + static_cast<std::uint64_t>(is_digit(c) ? c - '0' : (c | 32) - 'a' + 10);
  }
  return {kind, text_.substr(start, position_ - start), bits};
}

// Most numbers by far: few decimal digits and nothing else.
bool Lexer::plain_number() {
  constexpr std::size_t most_digits = 18;
  std::size_t end = position_;
  std::uint64_t bits = 0;
  for (; end < text_.size() && is_digit(text_[end]) && end - position_ < most_digits; ++end)
    bits = bits * 10 + static_cast<std::uint64_t>(text_[end] - '0');
  const char next = at(end);
  if ((text_[position_] == '0' && end - position_ > 1) || is_digit(next) || is_letter(next) || next == '.') return false;
  next_ = {TokenKind::integer, text_.substr(position_, end - position_), bits};
  position_ = end;
  return true;
}

Token Lexer::number() {
  const std::size_t start = position_;
  const char second = static_cast<char>(at(position_ + 1) | 32);
  if (at(position_) == '0' && second == 'f') return hex_float(8, TokenKind::float32);
  if (at(position_) == '0' && second == 'd') return hex_float(16, TokenKind::float64);
  int base = 10;
  if (at(position_) == '0' && second == 'x') {
    base = 16;
    position_ += 2;
  } else if (at(position_) == '0' && second == 'b') {
    base = 2;
    position_ += 2;
  } else if (at(position_) == '0' && is_digit(at(position_ + 1))) {
    base = 8;
  }
  const std::size_t first = position_;
  while (base == 16 ? is_hex(at(position_)) : is_digit(at(position_))) ++position_;
  const bool fraction = base == 10 && (at(position_) == '.' || (at(position_) | 32) == 'e');
  if (fraction) {
    if (at(position_) == '.') ++position_;
    while (is_digit(at(position_))) ++position_;
    if ((at(position_) | 32) == 'e') {
      ++position_;
      if (at(position_) == '+' || at(position_) == '-') ++position_;
      while (is_digit(at(position_))) ++position_;
    }
    const std::string copy(text_.substr(start, position_ - start));
    return {TokenKind::float64, text_.substr(start, position_ - start),
            std::bit_cast<std::uint64_t>(std::strtod(copy.c_str(), nullptr))};
  }
  Token token{TokenKind::integer, {}};
  const auto [end, error] = std::from_chars(text_.data() + first, text_.data() + position_, token.bits, base);
  if (error != std::errc{} || end != text_.data() + position_) throw SyntaxError{line_, "a number does not fit 64 bits"};
  if ((at(position_) | 32) == 'u') {
    token.is_unsigned = true;
    ++position_;
  }
  token.text = text_.substr(start, position_ - start);
  return token;
}

Token Lexer::quoted() {
  const std::size_t start = ++position_;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') ++position_;
  if (at(position_) != '"') throw SyntaxError{line_, "a quoted text is never closed"};
  return {TokenKind::text, text_.substr(start, position_++ - start)};
}

}  // namespace cupilot::ptx
