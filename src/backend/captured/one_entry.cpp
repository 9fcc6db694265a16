#include "backend/captured/one_entry.hpp"

#include <cctype>
#include <cstddef>

namespace cupilot {
namespace {

bool in_name(char one) {
  return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_' || one == '$' ||
         one == '.' || one == '%';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool over() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  char here() const { return text_[at_]; }

  // Takes a comment, a string, a name or else one character, and returns a name.
  std::string_view take() {
    const std::size_t from = at_;
    if (text_.substr(at_, 2) == "//") return skip("\n");
    if (text_.substr(at_, 2) == "/*") return skip("*/");
    if (here() == '"') {
      ++at_;
      return skip("\"");
    }
    if (!in_name(here())) {
      ++at_;
      return {};
    }
    while (!over() && in_name(here())) ++at_;
    return text_.substr(from, at_ - from);
  }
  // Takes all up to the end of the next block in braces, or of a declaration without one. `depth`:
  // of the braces that are open.
  void take_body(int depth = 0) {
    while (!over()) {
      const char one = here();
      take();
      if (one == '{') ++depth;
      if (one == '}') --depth;
      if ((one == '}' || one == ';') && depth <= 0) return;
    }
  }

 private:
  std::string_view skip(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string with_one_entry(std::string_view text, std::string_view entry) {
  std::string kept;
  Reader reader(text);
  std::size_t copied = 0, statement = 0;  // `statement`: where the words before a kernel's begin
  bool linkage = false;
  while (!reader.over()) {
    const std::size_t from = reader.at();
    const char first = reader.here();
    const std::string_view word = reader.take();
    if (first == '{') {
      reader.take_body(1);
      continue;
    }
    if (word.empty()) continue;
    if (!linkage) statement = from;
    linkage = word == ".visible" || word == ".weak" || word == ".extern";
    if (word != ".entry" && word != ".section") continue;
    std::string_view name;
    while (!reader.over() && name.empty()) name = reader.take();
    reader.take_body();
    if (word == ".entry" && name == entry) continue;
    kept += text.substr(copied, statement - copied);
    copied = reader.at();
  }
  return kept += text.substr(copied);
}

}  // namespace cupilot
