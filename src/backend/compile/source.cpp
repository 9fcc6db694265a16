#include "backend/compile/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <cupilot/parts/rejection.hpp>

namespace cupilot {
namespace {

// Letters of any alphabet and the backslash of a universal character name belong to identifiers:
// `éR"("` is no raw string.
constexpr std::array<bool, 256> word_bytes = [] {
  std::array<bool, 256> table{};
  for (int byte = 0; byte < 256; ++byte) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool digit = byte >= '0' && byte <= '9';
    table[static_cast<std::size_t>(byte)] =
        letter || digit || byte >= 0x80 || byte == '_' || byte == '$' || byte == '\\';
  }
  return table;
}();
bool is_word(char c) { return word_bytes[static_cast<unsigned char>(c)]; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// Says where lines of the text come from: a #line makes the line after it `number` of `file`.
struct Origin {
  std::string file = "kernel.cu";  // as the compiler calls the text
  long long after = 0, number = 1;

  std::string place(int line) const {
    return fmt::format("{}:{}", file, line - after - 1 + number);
  }
};

// The text as a sequence of characters with line splices taken out, as the preprocessor sees it.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { skip_splices(); }
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  // The character after `peek()`, splices taken out.
  char peek_next() const {
    Reader ahead = *this;
    ahead.take();
    return ahead.peek();
  }
  char take() {
    const char c = peek();
    step();
    skip_splices();
    return c;
  }
  // Takes the part of a word or of a line that lies ahead without a splice or a newline.
  template <class Belongs>
  std::string_view take_run(Belongs belongs) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '\\' && text_[at_] != '\n' && belongs(text_[at_]))
      ++at_;
    const std::string_view run = text_.substr(begin, at_ - begin);
    skip_splices();
    return run;
  }
  // In a raw string nothing is spliced.
  char take_raw() {
    const char c = peek();
    step();
    return c;
  }
  void end_raw() { skip_splices(); }
  int line() const { return line_; }

 private:
  void step() {
    if (done()) return;
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  // A backslash, blanks, and a newline join two lines; compilers differ on the blanks, so they
  // count as joined.
  void skip_splices() {
    while (at_ < text_.size() && text_[at_] == '\\') {
      std::size_t end = at_ + 1;
      while (end < text_.size() && is_blank(text_[end])) ++end;
      if (end >= text_.size() || text_[end] != '\n') return;
      ++line_;
      at_ = end + 1;
    }
  }
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

class Scanner {
 public:
  Scanner(std::string_view text, std::span<const std::string> allowed, const SourceCaps& caps)
      : in_(text), allowed_(allowed), caps_(caps) {}

  std::optional<Rejected> scan() {
    bool line_start = true;
    while (!in_.done() && !refused_) {
      const char c = in_.peek();
      if (is_blank(c)) {
        in_.take_run(is_blank);
      } else if (c == '\n') {
        in_.take();
        line_start = true;
      } else if (!skip_comment()) {
        piece(c, line_start);
        line_start = false;
      }
    }
    return std::move(refused_);
  }

  const std::vector<std::string>& included() const { return included_; }

 private:
  void piece(char c, bool line_start) {
    if (line_start && take_hash()) {
      directive();
    } else if (is_word(c)) {
      word();
    } else if (c == '"' || c == '\'') {
      skip_quoted(in_.take());
    } else {
      bracket(in_.take());
    }
  }

  // `//` and `/* */`; a comment leaves the start of a line a start.
  bool skip_comment() {
    if (in_.peek() != '/') return false;
    const char next = in_.peek_next();
    if (next == '/') {
      while (!in_.done() && in_.peek() != '\n') {
        if (in_.take_run([](char) { return true; }).empty()) in_.take();
      }
      return true;
    }
    if (next != '*') return false;
    in_.take();
    in_.take();
    char last = '\0';
    while (!in_.done()) {
      const char c = in_.take();
      if (last == '*' && c == '/') break;
      last = c;
    }
    return true;
  }

  // `#` or its digraph `%:`.
  bool take_hash() {
    if (in_.peek() == '#') {
      in_.take();
      return true;
    }
    if (in_.peek() == '%' && in_.peek_next() == ':') {
      in_.take();
      in_.take();
      return true;
    }
    return false;
  }

  void skip_quoted(char quote) {
    while (!in_.done() && in_.peek() != '\n') {
      const char c = in_.take();
      if (c == quote) return;
      if (c == '\\' && in_.peek() != '\n') in_.take();
    }
  }

  // After `R`, at the opening quote.
  void skip_raw_string() {
    in_.take_raw();
    std::string end = ")";
    while (!in_.done() && in_.peek() != '(' && end.size() < 20) end += in_.take_raw();
    end += '"';
    std::string tail;
    while (!in_.done()) {
      tail += in_.take_raw();
      if (tail.size() > end.size()) tail.erase(0, 1);
      if (tail == end) break;
    }
    in_.end_raw();
  }

  // Good until the next word is taken.
  std::string_view take_word() {
    std::string_view run = in_.take_run(is_word);
    if (in_.done() || !is_word(in_.peek())) return run;
    word_ = run;
    while (!in_.done() && is_word(in_.peek())) {
      run = in_.take_run(is_word);
      word_ += run;
      if (run.empty()) word_ += in_.take();
    }
    return word_;
  }

  // A number may hold quotes as digit separators: 1'000.
  void skip_number() {
    const auto belongs = [](char c) { return is_word(c) || c == '.'; };
    while (!in_.done() &&
           (belongs(in_.peek()) || (in_.peek() == '\'' && is_word(in_.peek_next())))) {
      if (in_.take_run(belongs).empty()) in_.take();
    }
  }

  void word() {
    const int line = in_.line();
    if (std::isdigit(static_cast<unsigned char>(in_.peek()))) return skip_number();
    const std::string_view text = take_word();
    static constexpr std::array<std::string_view, 3> probes = {"__has_include",
                                                               "__has_include_next", "__has_embed"};
    if (text.starts_with("__has_") &&
        std::find(probes.begin(), probes.end(), text) != probes.end()) {
      refused_ = refuse(
          "gate.include",
          fmt::format("{} asks which files exist; a kernel must not depend on that", text), line);
      return;
    }
    static constexpr std::array<std::string_view, 5> raw = {"R", "LR", "uR", "UR", "u8R"};
    if (in_.peek() == '"' && std::find(raw.begin(), raw.end(), text) != raw.end())
      skip_raw_string();
  }

  void skip_blanks() {
    while (!in_.done() && (is_blank(in_.peek()) || skip_comment())) {
      if (is_blank(in_.peek())) in_.take();
    }
  }

  // After `#`: refuses what would read a file. The rest of the line is scanned as ordinary text.
  void directive() {
    const int line = in_.line();
    skip_blanks();
    const std::string name(take_word());
    if (name == "line") return take_origin(line);
    static constexpr std::array<std::string_view, 4> readers = {"include", "include_next", "import",
                                                                "embed"};
    if (std::find(readers.begin(), readers.end(), name) == readers.end()) return;
    skip_blanks();
    std::string what;
    const char open = in_.peek();
    const char close = open == '<' ? '>' : open == '"' ? '"' : '\0';
    bool closed = false;
    if (close != '\0') {
      in_.take();
      while (!in_.done() && in_.peek() != close && in_.peek() != '\n') what += in_.take();
      closed = in_.peek() == close;
      if (closed) in_.take();
    }
    if (name == "include" && closed &&
        std::find(allowed_.begin(), allowed_.end(), what) != allowed_.end()) {
      if (std::find(included_.begin(), included_.end(), what) == included_.end())
        included_.push_back(what);
      return;
    }
    if (what.size() > 80) what = what.substr(0, 80) + "…";
    refused_ = refuse(
        "gate.include",
        fmt::format(
            "#{} {} is not on the list of allowed includes; put the text itself in the source",
            name, what.empty() ? "of a computed name" : what),
        line);
  }

  void take_origin(int line) {
    skip_blanks();
    const std::string number(take_word());
    long long parsed = 0;
    const auto end = number.data() + number.size();
    if (std::from_chars(number.data(), end, parsed).ptr != end || number.empty()) return;
    origin_.after = line;
    origin_.number = parsed;
    skip_blanks();
    if (in_.peek() != '"') return;
    in_.take();
    origin_.file.clear();
    while (!in_.done() && in_.peek() != '"' && in_.peek() != '\n') origin_.file += in_.take();
    if (in_.peek() == '"') in_.take();
  }

  std::optional<Rejected> refuse(std::string_view code, std::string message, int line) const {
    return reject(code, std::move(message), origin_.place(line));
  }

  void bracket(char c) {
    if (c == '\0')
      refused_ = refuse("gate.source_size", "the source holds a zero byte", in_.line());
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_;
    if (depth_ > caps_.nesting) {
      refused_ = refuse("gate.source_size",
                        fmt::format("brackets nest deeper than {}", caps_.nesting), in_.line());
    }
  }

  Reader in_;
  std::span<const std::string> allowed_;
  const SourceCaps& caps_;
  int depth_ = 0;
  std::string word_;  // one with a splice in it
  Origin origin_;
  std::optional<Rejected> refused_;
  std::vector<std::string> included_;
};

}  // namespace

std::optional<Rejected> check_source(std::string_view text, std::span<const std::string> allowed,
                                     const SourceCaps& caps, std::vector<std::string>* includes) {
  if (text.size() > caps.bytes) {
    return reject(
        "gate.source_size",
        fmt::format("the source has {} bytes; at most {} are compiled", text.size(), caps.bytes));
  }
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin > caps.line_bytes) {
      return reject(
          "gate.source_size",
          fmt::format("a line has {} bytes; at most {} are compiled", end - begin, caps.line_bytes),
          Origin().place(line));
    }
    begin = end + 1;
  }
  Scanner scanner(text, allowed, caps);
  auto refused = scanner.scan();
  if (includes != nullptr) *includes = scanner.included();
  return refused;
}

}  // namespace cupilot
