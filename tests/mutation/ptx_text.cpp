#include "ptx_text.hpp"

#include <algorithm>
#include <cctype>

namespace cupilot::mutation {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view word(std::string_view& text) {
  text = trimmed(text);
  std::size_t end = 0;
  while (end < text.size() && !is_space(text[end])) ++end;
  const std::string_view taken = text.substr(0, end);
  text = trimmed(text.substr(end));
  return taken;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (c != ',' || (depth != 0 && i < text.size())) continue;
    if (const auto part = trimmed(text.substr(from, i - from)); !part.empty())
      parts.push_back(part);
    from = i + 1;
  }
  return parts;
}

// Blanks in place of comments and quoted texts; offsets stay.
std::string bare(const std::string& text) {
  std::string out = text;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, out.size()); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
    return std::min(to, out.size());
  };
  for (std::size_t i = 0; i + 1 < out.size();) {
    if (out.compare(i, 2, "//") == 0)
      i = blank(i, out.find('\n', i));
    else if (out.compare(i, 2, "/*") == 0)
      i = blank(i, out.find("*/", i + 2) + 2);
    else if (out[i] == '"')
      i = blank(i, out.find('"', i + 1) + 1);
    else
      ++i;
  }
  return out;
}

}  // namespace

bool Instruction::has(std::string_view modifier) const {
  for (std::size_t at = opcode.find(modifier); at != std::string_view::npos;
       at = opcode.find(modifier, at + 1)) {
    const std::size_t behind = at + modifier.size();
    if (behind == opcode.size() || opcode[behind] == '.') return true;
  }
  return false;
}

PtxText::PtxText(std::string text) : text_(std::move(text)), code_(bare(text_)) { read(); }

std::string PtxText::spelled(const Instruction& one) const {
  return code_.substr(one.begin, one.end - one.begin);
}

std::optional<std::size_t> PtxText::target(const Instruction& branch) const {
  if (branch.operands.empty()) return std::nullopt;
  for (const Label& label : labels_) {
    if (label.name == branch.operands[0] && label.body == branch.body) return label.at;
  }
  return std::nullopt;
}

void PtxText::take(std::size_t begin, std::size_t end) {
  Instruction one{begin, end, {}, {}, {}, block_, body_};
  std::string_view rest(code_.data() + begin, end - 1 - begin);
  if (rest.starts_with("@")) one.guard = word(rest).substr(1);
  one.opcode = word(rest);
  one.operands = split(rest);
  const bool ends = one.is("bra") || one.is("ret") || one.is("exit") || one.is("brx");
  instructions_.push_back(std::move(one));
  if (ends) ++block_;
}

// One label, brace, directive or instruction; returns the offset behind it.
std::size_t PtxText::read_statement(std::size_t at) {
  // A place in the source ends with its line.
  if (code_.compare(at, 4, ".loc") == 0 && at + 4 < code_.size() && is_space(code_[at + 4]))
    return std::min(code_.find('\n', at), code_.size());
  std::size_t end = at;
  while (end < code_.size() && code_[end] != ';' && code_[end] != ':') {
    if (code_.compare(end, 2, "::") == 0) ++end;
    ++end;
    if (end < code_.size() && code_.compare(end, 2, "::") == 0) end += 2;
  }
  if (end >= code_.size()) return code_.size();
  const std::string_view words(code_.data() + at, end - at);
  if (code_[end] == ':' && words.find_first_of(" \t\n") == std::string_view::npos) {
    labels_.push_back({words, instructions_.size(), body_});
    ++block_;
    return end + 1;
  }
  end = code_.find(';', at);
  if (end == std::string::npos) return code_.size();
  const char first = code_[at];
  if (first == '@' || std::islower(static_cast<unsigned char>(first)) != 0) take(at, end + 1);
  return end + 1;
}

void PtxText::read() {
  int depth = 0;
  for (std::size_t i = 0; i < code_.size();) {
    if (is_space(code_[i])) {
      ++i;
    } else if (code_[i] == '{') {
      if (depth++ == 0) body_ = i + 1, ++block_;
      ++i;
    } else if (code_[i] == '}') {
      --depth, ++i;
    } else if (depth > 0) {
      i = read_statement(i);
    } else {
      // Outside of bodies: a function's header up to its `{`, or a directive up to its line's end.
      const std::size_t line = code_.find('\n', i);
      const std::size_t brace = code_.find_first_of("{;=", i);
      const bool is_variable = brace != std::string::npos && code_[brace] == '=';
      if (is_variable)
        i = code_.find(';', brace);
      else
        i = std::min(line == std::string::npos ? code_.size() : line, brace);
      if (i < code_.size() && code_[i] == ';') ++i;
    }
  }
}

}  // namespace cupilot::mutation
