#include "kernel/python_literal.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "kernel/plan_json.hpp"

namespace cupilot {
namespace {

struct Statement {
  std::string json;  // the literal's text, as JSON would write it
  std::string name, key;
  int line = 1;
};

// Rewrites text outside strings: quotes, round brackets, constants, comments, commas before a
// closing bracket.
class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) {}

  // The next statement: up to a line end outside brackets. False at the end of the text.
  bool next(std::string& out, int& line) {
    out.clear();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
        if (depth_ == 0 && out.find_first_not_of(' ') != std::string::npos) return true;
        continue;
      }
      if (out.find_first_not_of(' ') == std::string::npos) line = line_;
      one(c, out);
    }
    return out.find_first_not_of(' ') != std::string::npos;
  }

 private:
  void one(char c, std::string& out) {
    if (c == '#') return skip_comment();
    if (c == '"' || c == '\'') return quoted(c, out);
    if (is_word(c)) return word(out);
    ++at_;
    if (c == '\t' || c == '\r') c = ' ';
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') {
      depth_ = std::max(0, depth_ - 1);
      while (!out.empty() && (out.back() == ' ' || out.back() == ',')) out.pop_back();
    }
    out += c == '(' ? '[' : c == ')' ? ']' : c;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void quoted(char quote, std::string& out) {
    out += '"';
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) out += text_[at_++];
      if (text_[at_] == '"') out += '\\';
      out += text_[at_];
    }
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
    out += '"';
  }

  void word(std::string& out) {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    const bool maker = word == "dict" || word == "OrderedDict" || word == "collections.OrderedDict";
    if (maker && text_.substr(at_).starts_with("()")) {
      at_ += 2;
      out += "{}";
      return;
    }
    out += word == "True" ? "true" : word == "False" ? "false" : word == "None" ? "null" : word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, depth_ = 0;
};

std::string without_blanks(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// "name = literal", "name["key"] = literal".
bool split(const std::string& text, Statement& out) {
  const std::size_t equals = text.find('=');
  const std::size_t bracket = text.find_first_of("[{(");
  const std::size_t key_end = text.find("\"]");
  const bool keyed = bracket != std::string::npos && bracket < equals &&
                     text.compare(bracket, 2, "[\"") == 0 && key_end < equals;
  if (equals == std::string::npos || (bracket < equals && !keyed)) return false;
  out.name = without_blanks(text.substr(0, std::min(equals, bracket)));
  if (keyed) out.key = text.substr(bracket + 2, key_end - bracket - 2);
  out.json = without_blanks(text.substr(equals + 1));
  return !out.name.empty() && std::all_of(out.name.begin(), out.name.end(), is_word);
}

Error no_literal(const std::string& origin, int line, std::string_view text) {
  for (int before = 1; before < line; ++before)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return {ErrorCode::usage,
          fmt::format("{}: line {}: '{}' is no literal", origin, line,
                      text.substr(0, std::min<std::size_t>(text.find('\n'), 60))),
          "write lists, dictionaries, texts and numbers out; nothing is run"};
}

}  // namespace

Result<Json> read_python_object(std::string_view text, const std::string& origin) {
  if (text.size() > (1u << 20))
    return Error{ErrorCode::usage, origin + ": over a mebibyte", "keep the lists only"};
  Rewriter rewriter(text);
  Json all = Json::object();
  std::string line;
  for (int number = 1; rewriter.next(line, number);) {
    Statement statement;
    const std::string whole = without_blanks(line);
    if (whole.starts_with("import ") || whole.starts_with("from ")) continue;
    const bool dictionary = whole[0] == '{';
    if (!dictionary && !split(whole, statement)) return no_literal(origin, number, text);
    const auto read = read_json_object(
        fmt::format("{{\"value\": {}}}", dictionary ? whole : statement.json), origin);
    if (!read) return no_literal(origin, number, text);
    const Json& value = (*read)["value"];
    if (dictionary) {
      if (!all.empty()) return no_literal(origin, number, text);
      all = value;
    } else if (statement.key.empty()) {
      all[statement.name] = value;
    } else if (!all.contains(statement.name) || !all[statement.name].is_object()) {
      return Error{
          ErrorCode::usage,
          fmt::format("{}: line {}: {} is no dictionary yet", origin, number, statement.name),
          fmt::format("write {} = {{}} above", statement.name)};
    } else {
      all[statement.name][statement.key] = value;
    }
  }
  if (all.empty())
    return Error{ErrorCode::usage, origin + ": holds no lists", "see docs/formats/kernel-tuner.md"};
  return all;
}

}  // namespace cupilot
