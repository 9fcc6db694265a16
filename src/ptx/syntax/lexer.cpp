#include "ptx/syntax/lexer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace cupilot::ptx {
namespace {

enum : std::uint8_t { letter = 1, digit = 2, hex = 4, space = 8, mark = 16 };

constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&](std::string_view bytes, std::uint8_t what) {
    for (const char c : bytes) table[static_cast<unsigned char>(c)] |= what;
  };
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$%", letter);
  add("0123456789", digit);
  add("0123456789abcdefABCDEF", hex);
  add(" \t\r\f\v\n", space);
  add("{}()[]<>,;:@!|+-*/=~&^?", mark);
  return table;
}();

bool is(int what, char c) { return (classes[static_cast<unsigned char>(c)] & what) != 0; }

std::string shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  return "'" + std::string(token.text.substr(0, 60)) + "'";
}

}  // namespace

void Lexer::fail_to_find(std::string_view spelling) const {
  throw SyntaxError{next_.line,
                    "expected '" + std::string(spelling) + "' but found " + shown(next_)};
}

std::string_view Lexer::expect_word(std::string_view what) {
  if (next_.kind != TokenKind::word)
    throw SyntaxError{next_.line, "expected " + std::string(what) + " but found " + shown(next_)};
  const std::string_view text = next_.text;
  advance();
  return text;
}

std::uint64_t Lexer::expect_integer(std::string_view what) {
  if (next_.kind != TokenKind::integer)
    throw SyntaxError{next_.line, "expected " + std::string(what) + " but found " + shown(next_)};
  const std::uint64_t bits = next_.bits;
  advance();
  return bits;
}

// Skips blanks, newlines and comments.
void Lexer::skip_space() {
  for (;;) {
    std::size_t end = position_;
    std::uint32_t lines = line_;
    for (; end < text_.size() && is(space, text_[end]); ++end) lines += text_[end] == '\n' ? 1 : 0;
    position_ = end;
    line_ = lines;
    if (at(end) != '/' || (at(end + 1) != '/' && at(end + 1) != '*')) return;
    skip_comment();
  }
}

void Lexer::skip_comment() {
  if (text_[position_ + 1] == '/') {
    position_ = std::min(text_.find('\n', position_), text_.size());
    return;
  }
  const std::size_t end = text_.find("*/", position_ + 2);
  if (end == std::string_view::npos) throw SyntaxError{line_, "a comment is never closed"};
  line_ +=
      static_cast<std::uint32_t>(std::count(text_.begin() + position_, text_.begin() + end, '\n'));
  position_ = end + 2;
}

void Lexer::advance() {
  skip_space();
  next_.line = line_;
  const char c = at(position_);
  const char beyond = c == '.' ? at(position_ + 1) : c;  // a word or a number may begin with a dot
  if (is(letter, beyond)) {
    take_until(TokenKind::word, end_of_word());
  } else if (is(mark, c)) {
    take_until(TokenKind::mark, position_ + 1);
  } else if (is(digit, beyond)) {
    if (c == '.' || !plain_number()) number();
  } else if (position_ >= text_.size()) {
    take_until(TokenKind::end, position_);
  } else if (c == '"') {
    quoted();
  } else {
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    throw SyntaxError{line_, std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15] +
                                 " has no place in PTX"};
  }
}

// The next token: from here to `end`.
void Lexer::take_until(TokenKind kind, std::size_t end, std::uint64_t bits) {
  next_.kind = kind;
  next_.is_unsigned = false;
  next_.text = std::string_view(text_.data() + position_, end - position_);
  next_.bits = bits;
  position_ = end;
}

// A word holds its dots: an opcode with modifiers, a directive, or a name. "::" belongs to it when
// a letter or digit follows.
std::size_t Lexer::end_of_word() const {
  std::size_t end = position_ + 1;
  for (;;) {
    while (end < text_.size() && is(letter | digit, text_[end])) ++end;
    const std::size_t mark_bytes = at(end) == '.'                         ? 1
                                   : at(end) == ':' && at(end + 1) == ':' ? 2
                                                                          : 0;
    if (mark_bytes == 0 || !is(letter | digit, at(end + mark_bytes))) return end;
    end += mark_bytes + 1;
  }
}

void Lexer::hex_float(std::size_t digits, TokenKind kind) {
  const std::size_t end = position_ + 2 + digits;
  std::uint64_t bits = 0;
  for (std::size_t i = position_ + 2; i < end; ++i) {
    const char c = at(i);
    if (!is(hex, c))
      throw SyntaxError{line_, "a hexadecimal float needs " + std::to_string(digits) + " digits"};
    bits = bits * 16 + static_cast<std::uint64_t>(is(digit, c) ? c - '0' : (c | 32) - 'a' + 10);
  }
  take_until(kind, end, bits);
}

// Most numbers by far: few decimal digits and nothing else.
bool Lexer::plain_number() {
  constexpr std::size_t most_digits = 18;
  std::size_t end = position_;
  std::uint64_t bits = 0;
  for (; end < text_.size() && is(digit, text_[end]) && end - position_ < most_digits; ++end)
    bits = bits * 10 + static_cast<std::uint64_t>(text_[end] - '0');
  const char next = at(end);
  if ((text_[position_] == '0' && end - position_ > 1) || is(digit | letter, next) || next == '.')
    return false;
  take_until(TokenKind::integer, end, bits);
  return true;
}

// Past the digits of a base from here.
std::size_t Lexer::end_of_digits(std::size_t from, int what) const {
  while (is(what, at(from))) ++from;
  return from;
}

void Lexer::number() {
  const char first = at(position_), second = static_cast<char>(at(position_ + 1) | 32);
  if (first == '0' && second == 'f') return hex_float(8, TokenKind::float32);
  if (first == '0' && second == 'd') return hex_float(16, TokenKind::float64);
  const int base = first != '0'                   ? 10
                   : second == 'x'                ? 16
                   : second == 'b'                ? 2
                   : is(digit, at(position_ + 1)) ? 8
                                                  : 10;
  const std::size_t start = position_ + (base == 16 || base == 2 ? 2 : 0);
  std::size_t end = end_of_digits(start, base == 16 ? hex : digit);
  if (base == 10 && (at(end) == '.' || (at(end) | 32) == 'e')) return fraction(end);
  std::uint64_t bits = 0;
  const auto [stop, error] = std::from_chars(text_.data() + start, text_.data() + end, bits, base);
  if (error != std::errc{} || stop != text_.data() + end)
    throw SyntaxError{line_, "a number does not fit 64 bits"};
  const bool is_unsigned = (at(end) | 32) == 'u';
  take_until(TokenKind::integer, end + (is_unsigned ? 1 : 0), bits);
  next_.is_unsigned = is_unsigned;
}

// A number whose digits before the dot or the exponent end there.
void Lexer::fraction(std::size_t end) {
  if (at(end) == '.') end = end_of_digits(end + 1, digit);
  if ((at(end) | 32) == 'e') {
    ++end;
    if (at(end) == '+' || at(end) == '-') ++end;
    end = end_of_digits(end, digit);
  }
  const std::string copy(text_.substr(position_, end - position_));
  take_until(TokenKind::float64, end,
             std::bit_cast<std::uint64_t>(std::strtod(copy.c_str(), nullptr)));
}

void Lexer::quoted() {
  const std::size_t start = ++position_;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n')
    ++position_;
  if (at(position_) != '"') throw SyntaxError{line_, "a quoted text is never closed"};
  const std::size_t end = std::exchange(position_, start);
  take_until(TokenKind::text, end);
  ++position_;
}

}  // namespace cupilot::ptx
