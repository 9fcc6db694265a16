#include "agents/write/device_headers.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include <cupilot/parts/kernel_source.hpp>

#include "base/embedded.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

constexpr std::string_view include_mark = "#include \"cupilot/";

// Past the quotes, comment or brace block that opens at `at`.
std::size_t past(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'' && text[at] != '{') return at + 1;
  const char close = text[at] == '{' ? '}' : text[at];
  for (std::size_t i = at + 1; i < text.size();) {
    if (text[i] == close) return i + 1;
    if (close != '}') {
      i += text[i] == '\\' ? 2 : 1;
    } else {
      i = past(text, i);
    }
  }
  return text.size();
}

// Past a definition of the preprocessor, its continued lines too; `at` itself where there is none.
std::size_t past_definition(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("#define") && !text.substr(at).starts_with("#undef")) return at;
  std::size_t end = text.find('\n', at);
  while (end != std::string_view::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return std::min(end, text.size() - 1) + 1;
}

// True if the braces behind `declaration` hold a function's body.
bool leads_to_body(std::string_view declaration) {
  return declaration.find("__device__") != std::string_view::npos;
}

// Embedded headers that all families share, then those of each family, by name.
const std::vector<std::pair<std::string, std::string_view>>& embedded_headers() {
  static const auto headers = [] {
    std::vector<std::pair<std::string, std::string_view>> all;
    for (const bool shared : {true, false}) {
      for (const EmbeddedFile& file : kernel_files()) {
        if (file.name.ends_with(".cuh") && file.name.starts_with("device/") == shared)
          all.emplace_back(file.name.substr(file.name.rfind('/') + 1), file.text);
      }
    }
    return all;
  }();
  return headers;
}

std::set<std::string> all_but(const std::string& header) {
  std::set<std::string> names;
  for (const auto& [name, text] : embedded_headers()) {
    if (name != header) names.insert(name);
  }
  return names;
}

// Text of a header that all share, else of `own`, else, where there is no `own`, of a family; "":
// there is none.
std::string_view header_text(const std::string& name, const DeviceHeaders* own) {
  const std::string_view shared = find_embedded(kernel_files(), "device/" + name);
  if (!shared.empty()) return shared;
  if (own != nullptr) {
    const auto found = own->find(name);
    return found == own->end() ? std::string_view() : found->second;
  }
  return device_header(name);
}

// Calls `told(word, next)` for each identifier outside comments; `next`: what follows it but
// blanks.
template <class Told>
void each_word(std::string_view text, Told told) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (!is_identifier_character(text[at])) {
      ++at;
    } else {
      std::size_t end = at;
      while (end < text.size() && is_identifier_character(text[end])) ++end;
      const std::size_t next = text.find_first_not_of(" \n", end);
      told(text.substr(at, end - at), next == std::string_view::npos ? '\0' : text[next]);
      at = end;
    }
  }
}

// True if a function, type or constant that the outline declares is among the words.
bool declares_one_of(std::string_view outline, const std::set<std::string>& words) {
  bool any = false;
  std::string_view before;
  each_word(outline, [&](std::string_view word, char next) {
    const bool declared = next == '(' || next == '=' || before == "struct" || before == "using";
    any = any || (declared && word.size() > 1 && !word.starts_with("__") && word != "float" &&
                  word != "sizeof" && words.contains(std::string(word)));
    before = word;
  });
  return any;
}

// A line that calls a macro, like those that define one function after another.
bool calls_macro(std::string_view line) {
  const std::size_t end = line.find('(');
  return end != std::string_view::npos && end > 0 && line.ends_with(')') &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
           return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

// Returns the end of a specialisation of a type at `at`, which says no more than the type that it
// specialises; `at` itself where there is none.
std::size_t past_specialisation(std::string_view text, std::size_t at) {
  constexpr std::string_view begin = "template <>\nstruct ", close = "\n};\n";
  if (!text.substr(at).starts_with(begin)) return at;
  const std::size_t end = text.find(close, at);
  return end == std::string_view::npos ? at : end + close.size();
}

// Returns an outline without what all its functions bear, without specialised types and notes to a
// formatter, with the first of a run of macro calls, with single blank lines and shallow
// continuations.
std::string shortened(std::string_view outline) {
  constexpr std::string_view borne = "__device__ __forceinline__ ";
  constexpr std::size_t deepest = 4;
  std::string out;
  std::string_view before;
  for (std::size_t from = 0; from < outline.size();) {
    if (const std::size_t behind = past_specialisation(outline, from); behind != from) {
      from = behind;
      continue;
    }
    const std::size_t end = std::min(outline.find('\n', from), outline.size());
    std::string_view line = outline.substr(from, end - from);
    from = end + 1;
    if (line.starts_with("// clang-format") || (line.empty() && before.empty()) ||
        (calls_macro(line) && calls_macro(before)))
      continue;
    before = line;
    const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
    std::string kept(std::min(text, deepest), ' ');
    kept += line.substr(text);
    if (const std::size_t at = kept.find(borne); at != std::string::npos)
      kept.erase(at, borne.size());
    out += kept;
    out += '\n';
  }
  return out;
}

Error no_header(const std::string& file, const std::string& name, const DeviceHeaders* own) {
  std::string known;
  const auto add = [&](std::string_view one) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one);
  };
  for (const EmbeddedFile& one : kernel_files()) {
    if (one.name.starts_with("device/")) add(one.name.substr(7));
  }
  for (const auto& [one, text] : own != nullptr ? *own : DeviceHeaders()) add(one);
  return {ErrorCode::usage, fmt::format("{}: no device header \"cupilot/{}\"", file, name),
          "there are " + known};
}

}  // namespace

std::string_view device_header(std::string_view name) {
  // Shared ones come first.
  for (const auto& [known, text] : embedded_headers()) {
    if (known == name) return text;
  }
  return {};
}

Result<void> inline_device_headers(std::string_view text, const std::string& file,
                                   std::set<std::string>& seen, std::string& out,
                                   const DeviceHeaders* own) {
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    if (!line.starts_with(include_mark)) {
      out += fmt::format("{}\n", line);
      continue;
    }
    const std::string name(line.substr(include_mark.size(),
                                       line.find('"', include_mark.size()) - include_mark.size()));
    if (!seen.insert(name).second) continue;
    const std::string_view header = header_text(name, own);
    if (header.empty()) return no_header(file, name, own);
    out += fmt::format("// cupilot/{}\n", name);
    if (auto done = inline_device_headers(header, name, seen, out, own); !done) return done;
  }
  return {};
}

std::string outline_of(std::string_view header) {
  std::string out;
  std::size_t declared = 0;  // where the present declaration begins in `out`
  for (std::size_t at = 0; at < header.size();) {
    if (header[at] == '{' && leads_to_body(std::string_view(out).substr(declared))) {
      at = past(header, at);
      while (out.ends_with(' ')) out.pop_back();
      out += ';';
      declared = out.size();
      continue;
    }
    if (const std::size_t end = past_definition(header, at); end != at) {
      at = end;
      continue;
    }
    const std::size_t end = header[at] == '{' ? at + 1 : past(header, at);
    out += header.substr(at, end - at);
    if (header[at] == ';' || header[at] == '}' || header[at] == '{' || header.substr(at, 2) == "//")
      declared = out.size();
    at = end;
  }
  return out;
}

std::string outlines_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const std::string_view header = header_text(name, nullptr);
    if (!header.empty())
      text += fmt::format("// cupilot/{}\n{}\n", name, shortened(outline_of(header)));
  }
  return text;
}

std::vector<std::string> common_headers() { return {"types.cuh", "vector.cuh", "async_copy.cuh"}; }

std::vector<std::string> product_headers(Precision precision, int compute_major) {
  if (precision == Precision::fp32_strict || precision == Precision::fp64) return {};
  if (compute_major >= 9) return {"wgmma.cuh"};
  return {"mma.cuh"};
}

std::vector<std::string> copy_headers(int compute_major) {
  if (compute_major < 9) return {};
  return {"barrier.cuh", "cluster.cuh", "tma.cuh"};
}

namespace {

// Names of the headers, each before those that it includes.
const std::vector<std::string>& headers_outer_first() {
  static const auto names = [] {
    std::vector<std::pair<std::size_t, std::string>> sizes;
    for (const auto& [name, text] : embedded_headers()) {
      std::set<std::string> seen;
      std::string whole;
      if (inline_device_headers(text, name, seen, whole)) sizes.emplace_back(whole.size(), name);
    }
    std::stable_sort(sizes.begin(), sizes.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> all;
    for (auto& [size, name] : sizes) all.push_back(std::move(name));
    return all;
  }();
  return names;
}

}  // namespace

std::vector<std::string> headers_in(std::string_view text) {
  std::vector<std::string> names;
  std::set<std::string> used;
  each_word(with_includes(text), [&](std::string_view word, char) { used.emplace(word); });
  for (const auto& [name, header] : embedded_headers()) {
    if ((text.find("// cupilot/" + name + "\n") != std::string_view::npos ||
         text.find(fmt::format("{}{}\"", include_mark, name)) != std::string_view::npos) &&
        declares_one_of(outline_of(header), used))
      names.push_back(name);
  }
  return names;
}

std::string with_includes(std::string_view text) {
  std::string out(text);
  for (const std::string& name : headers_outer_first()) {
    const std::size_t at = out.find("// cupilot/" + name + "\n");
    if (at == std::string::npos) continue;
    // With the headers that it includes, or without: they may have stood there before.
    std::set<std::string> none, others = all_but(name);
    for (std::set<std::string>* seen : {&none, &others}) {
      std::string whole;
      const std::string include = fmt::format("#include \"cupilot/{}\"", name);
      if (!inline_device_headers(include, name, *seen, whole) ||
          out.compare(at, whole.size(), whole) != 0)
        continue;
      out.replace(at, whole.size(), include + "\n");
      break;
    }
  }
  return out;
}

}  // namespace cupilot
