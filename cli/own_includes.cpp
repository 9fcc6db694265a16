#include "own_includes.hpp"

#include <filesystem>
#include <optional>
#include <set>

#include <fmt/core.h>

#include <cupilot/parts/host.hpp>
#include <cupilot/parts/kernel_source.hpp>

namespace cupilot::cli {
namespace {

constexpr std::size_t most_bytes = 8u << 20;
constexpr int deepest = 64;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// The text after `#` and `word`; nullopt: the line is no such directive.
std::optional<std::string_view> directive(std::string_view line, std::string_view word) {
  std::string_view rest = without_blanks(line);
  if (!rest.starts_with('#')) return std::nullopt;
  rest = without_blanks(rest.substr(1));
  if (!rest.starts_with(word)) return std::nullopt;
  return without_blanks(rest.substr(word.size()));
}

struct Include {
  std::string name;
  bool quoted = false;
};

std::optional<Include> include_of(std::string_view line) {
  const auto rest = directive(line, "include");
  if (!rest || rest->empty() || (rest->front() != '"' && rest->front() != '<')) return std::nullopt;
  const bool quoted = rest->front() == '"';
  const std::size_t end = rest->find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  return Include{std::string(rest->substr(1, end - 1)), quoted};
}

// Follows block comments from line to line.
class Comments {
 public:
  // True if the line begins inside of a comment.
  bool pass(std::string_view line) {
    const bool inside = inside_;
    char quote = '\0';
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string_view two = line.substr(i, 2);
      if (inside_) {
        if (two != "*/") continue;
        inside_ = false;
        ++i;
      } else if (quote != '\0') {
        if (line[i] == '\\')
          ++i;
        else if (line[i] == quote)
          quote = '\0';
      } else if (two == "//") {
        break;
      } else if (two == "/*") {
        inside_ = true;
        ++i;
      } else if (line[i] == '"') {
        quote = '"';
      }
    }
    return inside;
  }

 private:
  bool inside_ = false;
};

class Expander {
 public:
  explicit Expander(const std::vector<std::string>& folders) : folders_(folders) {}

  // `name`: what the compiler calls the file.
  Result<void> add(std::string_view text, const std::string& path, const std::string& name,
                   int depth) {
    if (depth > deepest)
      return Error{ErrorCode::usage, path + ": its includes nest without end",
                   "guard the header by `#pragma once`"};
    Comments comments;
    int number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end);
      ++number;
      const auto include = comments.pass(line) ? std::nullopt : include_of(line);
      const auto found = include ? find(*include, path) : std::nullopt;
      if (!found) {
        out_ += line;
      } else if (auto added = add_header(*found, include->name, depth); !added) {
        return added;
      } else {
        out_ += fmt::format("#line {} \"{}\"\n", number + 1, name);
      }
      if (out_.size() > most_bytes)
        return Error{ErrorCode::usage,
                     fmt::format("{}: over {} bytes with its includes", path, most_bytes),
                     "leave out what the kernel does not need"};
    }
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    return {};
  }

  std::string take() { return std::move(out_); }

 private:
  struct Header {
    std::string path, text;
    bool shipped = false;
  };

  // nullopt: it is none of ours.
  std::optional<Header> find(const Include& include, const std::string& from) const {
    std::vector<std::string> folders = folders_;
    if (include.quoted) folders.insert(folders.begin(), folder_of(from));
    for (const std::string& folder : folders) {
      std::string path =
          std::filesystem::path(folder + "/" + include.name).lexically_normal().string();
      if (auto text = real_host().read_file(path)) return Header{std::move(path), std::move(*text)};
    }
    constexpr std::string_view shipped = "cupilot/";
    if (!include.quoted || !include.name.starts_with(shipped)) return std::nullopt;
    const std::string_view text = device_header(include.name.substr(shipped.size()));
    if (text.empty()) return std::nullopt;
    return Header{include.name, std::string(text), true};
  }

  Result<void> add_header(const Header& header, const std::string& name, int depth) {
    if (once_.contains(header.path)) return {};
    if (header.shipped) once_.insert(header.path);
    Comments comments;
    for (std::string_view rest = header.text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const auto pragma = comments.pass(line) ? std::nullopt : directive(line, "pragma");
      if (pragma && pragma->starts_with("once")) once_.insert(header.path);
    }
    out_ += fmt::format("#line 1 \"{}\"\n", name);
    return add(header.text, header.path, name, depth + 1);
  }

  const std::vector<std::string>& folders_;
  std::set<std::string> once_;
  std::string out_;
};

}  // namespace

Result<std::string> with_own_includes(std::string_view text, const std::string& path,
                                      const std::vector<std::string>& folders) {
  Expander expander(folders);
  if (auto added = expander.add(text, path, "kernel.cu", 0); !added) return added.error();
  return expander.take();
}

}  // namespace cupilot::cli
