// The tokens of a CUDA text, with what an operator asks about them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cupilot::mutation {

enum class TokenKind { word, number, text, mark };
struct Token {
  TokenKind kind = TokenKind::mark;
  std::size_t begin = 0, end = 0;  // offsets in the text
  int depth = 0;                   // of braces around it: 0 stands outside every function
  std::size_t mate = 0;            // of a bracket: its partner's place in the list; else its own
};

// Comments and preprocessor lines hold no tokens. Marks are as long as C++ makes them, but `>>`
// counts as two.
class SourceText {
 public:
  explicit SourceText(std::string text);

  const std::string& text() const { return text_; }
  std::size_t size() const { return tokens_.size(); }
  const Token& operator[](std::size_t at) const { return tokens_[at]; }
  std::string_view spelling(std::size_t at) const;
  bool is(std::size_t at, std::string_view spelled) const {
    return at < size() && spelling(at) == spelled;
  }
  bool is_word(std::size_t at) const { return at < size() && tokens_[at].kind == TokenKind::word; }
  // In a function's body, and in no asm statement.
  bool is_code(std::size_t at) const { return code_[at]; }
  // A comparison or sum, not a template's bracket or a sign: formatted texts put blanks around it.
  bool is_binary(std::size_t at) const;
  // The first token of the statement that holds `at`, and the token that ends it (`;`, `{` or `}`).
  std::size_t statement_begin(std::size_t at) const;
  std::size_t statement_end(std::size_t at) const;
  std::string between(std::size_t first, std::size_t last) const;  // text of tokens [first, last)

 private:
  void read();
  void pair_brackets();
  void mark_code();

  std::string text_;
  std::vector<Token> tokens_;
  std::vector<bool> code_;
};

}  // namespace cupilot::mutation
