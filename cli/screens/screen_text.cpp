#include "screens/screen_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cupilot::cli {
namespace {

constexpr std::size_t columns = 100, label_width = 13;

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t cut = text.size() <= width ? text.size() : text.rfind(' ', width);
    if (cut == std::string_view::npos || cut == 0) cut = width;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

}  // namespace

void put(std::string& screen, std::string_view label, std::string_view text, std::size_t most) {
  std::vector<std::string> lines = wrapped(text, columns - label_width);
  if (lines.size() > most) {
    lines.resize(most);
    std::string& last = lines.back();
    last.resize(std::min(last.size(), columns - label_width - 4));
    last += " ...";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    screen += fmt::format("  {:<{}}{}\n", i == 0 ? label : "", label_width - 2, lines[i]);
  }
}

void put_all(std::string& screen, std::string_view label, const std::vector<std::string>& sentences,
             std::size_t most) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::size_t lines =
        std::min<std::size_t>(2, wrapped(sentences[i], columns - label_width).size());
    if (used + lines + (i + 1 < sentences.size() ? 1 : 0) > most) {
      return put(screen, "", fmt::format("and {} more: --json names them", sentences.size() - i));
    }
    put(screen, i == 0 ? label : "", sentences[i], lines);
    used += lines;
  }
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

int number_after(std::string_view where, std::string_view word) {
  const std::size_t at = where.find(word);
  if (at == std::string_view::npos) return 0;
  int number = 0;
  std::from_chars(where.data() + at + word.size(), where.data() + where.size(), number);
  return number;
}

std::string line_of(std::string_view text, int number) {
  for (int line = 1; line < number && !text.empty(); ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::string found(text.substr(0, text.find('\n')));
  for (char& c : found) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return found.substr(std::min(found.find_first_not_of(' '), found.size()));
}

std::string in_the_file(const OwnKernel& kernel, std::string text) {
  const std::string_view compiled_as =
      kernel.source.language == Language::ptx ? "ptx line" : "kernel.cu";
  for (std::size_t at = text.find(compiled_as); at != std::string::npos;
       at = text.find(compiled_as, at + 1)) {
    const std::size_t digits = at + compiled_as.size() + 1;
    const int number =
        digits < text.size() ? number_after(std::string_view(text).substr(digits), "") : 0;
    if (number == 0 || number + kernel.header_lines < kernel.first_line) continue;
    const std::string place =
        file_name(kernel.path) + ":" + std::to_string(number + kernel.header_lines);
    const std::size_t length =
        digits - at + std::to_string(number).size() + (text[digits - 1] == '(' ? 1 : 0);
    text.replace(at, length, place);
    at += place.size() - 1;
  }
  return text;
}

}  // namespace cupilot::cli
