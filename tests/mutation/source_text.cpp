#include "source_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cupilot::mutation {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr std::array<std::string_view, 21> long_marks = {
    "<<=", "...", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&",
    "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::"};

std::size_t mark_end(std::string_view text, std::size_t at) {
  for (const std::string_view mark : long_marks) {
    if (text.substr(at, mark.size()) == mark) return at + mark.size();
  }
  return at + 1;
}

std::size_t quoted_end(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Past blanks, comments and preprocessor lines.
std::size_t skip(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
    } else if (text.substr(at, 2) == "//" || text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      at = std::min(text.find("*/", at), text.size() - 2) + 2;
    } else {
      break;
    }
  }
  return at;
}

Token token_at(std::string_view text, std::size_t at) {
  Token token{TokenKind::mark, at, at, 0, 0};
  if (is_digit(text[at])) {
    token.kind = TokenKind::number;
    while (token.end < text.size() && (is_letter(text[token.end]) || text[token.end] == '.'))
      ++token.end;
  } else if (is_letter(text[at])) {
    token.kind = TokenKind::word;
    while (token.end < text.size() && is_letter(text[token.end])) ++token.end;
  } else if (text[at] == '"' || text[at] == '\'') {
    token.kind = TokenKind::text;
    token.end = quoted_end(text, at);
  } else {
    token.end = mark_end(text, at);
  }
  return token;
}

}  // namespace

SourceText::SourceText(std::string text) : text_(std::move(text)) {
  read();
  pair_brackets();
  mark_code();
}

void SourceText::read() {
  for (std::size_t at = skip(text_, 0); at < text_.size(); at = skip(text_, tokens_.back().end)) {
    tokens_.push_back(token_at(text_, at));
  }
}

void SourceText::pair_brackets() {
  std::vector<std::size_t> open;
  int depth = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    Token& token = tokens_[i];
    token.mate = i;
    const std::string_view mark = spelling(i);
    if (mark == "}") --depth;
    token.depth = depth;
    if (mark == "{") ++depth;
    if (mark == "(" || mark == "[" || mark == "{") open.push_back(i);
    if ((mark == ")" || mark == "]" || mark == "}") && !open.empty()) {
      token.mate = open.back();
      tokens_[open.back()].mate = i;
      open.pop_back();
    }
  }
}

void SourceText::mark_code() {
  code_.assign(size(), false);
  for (std::size_t i = 0; i < size(); ++i) code_[i] = tokens_[i].depth > 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is(i, "asm")) continue;
    for (std::size_t j = i; j <= statement_end(i); ++j) code_[j] = false;
  }
}

std::string_view SourceText::spelling(std::size_t at) const {
  return std::string_view(text_).substr(tokens_[at].begin, tokens_[at].end - tokens_[at].begin);
}

bool SourceText::is_binary(std::size_t at) const {
  const Token& token = tokens_[at];
  return token.begin > 0 && text_[token.begin - 1] == ' ' && token.end < text_.size() &&
         text_[token.end] == ' ';
}

std::size_t SourceText::statement_begin(std::size_t at) const {
  while (at > 0) {
    const std::string_view before = spelling(at - 1);
    if (before == ";" || before == "{" || before == "}" || before == "else") return at;
    // `if (…)` and `for (…)` stand before their statement.
    if (before == ")" && tokens_[at - 1].mate > 0) {
      const std::string_view head = spelling(tokens_[at - 1].mate - 1);
      if (head == "if" || head == "for" || head == "while") return at;
    }
    --at;
  }
  return at;
}

std::size_t SourceText::statement_end(std::size_t at) const {
  while (at + 1 < size() && !is(at, ";") && !is(at, "{") && !is(at, "}")) {
    const std::string_view mark = spelling(at);
    at = (mark == "(" || mark == "[") ? tokens_[at].mate + 1 : at + 1;
  }
  return std::min(at, size() - 1);
}

std::string SourceText::between(std::size_t first, std::size_t last) const {
  if (first >= last) return {};
  return text_.substr(tokens_[first].begin, tokens_[last - 1].end - tokens_[first].begin);
}

}  // namespace cupilot::mutation
