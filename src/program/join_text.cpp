#include "program/join_text.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/embedded.hpp"
#include "task/identifiers.hpp"

namespace cupilot {
namespace {

// A device header that needs no constant of a kernel, as it stands in a text.
struct SharedHeader {
  std::string name;
  std::string text;  // with its mark, without its includes
  std::vector<std::string> includes;
};

std::vector<SharedHeader> shareable_headers() {
  std::vector<SharedHeader> all;
  constexpr std::string_view folder = "device/", include = "#include \"cupilot/";
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.starts_with(folder) || file.text.find("Wants:") != std::string_view::npos)
      continue;
    SharedHeader header{
        .name = std::string(file.name.substr(folder.size())), .text = {}, .includes = {}};
    header.text = fmt::format("// cupilot/{}\n", header.name);
    for (std::size_t from = 0; from < file.text.size();) {
      const std::size_t end = std::min(file.text.find('\n', from), file.text.size());
      const std::string_view line = file.text.substr(from, end - from);
      from = end + 1;
      if (line.starts_with(include))
        header.includes.emplace_back(
            line.substr(include.size(), line.find('"', include.size()) - include.size()));
      else
        header.text += fmt::format("{}\n", line);
    }
    all.push_back(std::move(header));
  }
  return all;
}

std::string scalar_bits(const Scalar& scalar) {
  switch (scalar.type) {
    case DType::f32:
      return std::to_string(std::bit_cast<std::int32_t>(static_cast<float>(scalar.value)));
    case DType::f64:
      return std::to_string(std::bit_cast<std::int64_t>(scalar.value));
    default:
      return std::to_string(static_cast<std::int64_t>(scalar.value));
  }
}

}  // namespace

std::string copy_entry(int bytes) { return fmt::format("program_copy_{}", bytes); }

std::string copy_text(int bytes) {
  const char* type = bytes == 8   ? "unsigned long long"
                     : bytes == 4 ? "unsigned"
                     : bytes == 2 ? "unsigned short"
                                  : "unsigned char";
  return fmt::format(R"(
// Copies a step's value from or to its place among all steps.
extern "C" __global__ void {0}(const {1}* from, long long at, {1}* to, long long place,
                               long long count) {{
  for (long long i = blockIdx.x * {2}ll + threadIdx.x; i < count; i += {3})
    to[place + i] = from[at + i];
}}
)",
                     copy_entry(bytes), type, copy_threads, copy_blocks * copy_threads);
}

Expr bits_of(const Scalar& scalar) {
  const std::string bits = scalar_bits(scalar);
  if (!bits.starts_with('-')) return bits;
  if (bits == std::to_string(INT64_MIN)) return Expr("0 - 9223372036854775807 - 1");
  return Expr("0 - " + bits.substr(1));
}

std::string hoist_headers(std::vector<std::string>& texts) {
  const std::vector<SharedHeader> headers = shareable_headers();
  std::set<std::string> hoisted;
  std::string out;
  for (std::string& text : texts) {
    for (bool found = true; found;) {
      found = false;
      std::size_t first = std::string::npos;
      const SharedHeader* next = nullptr;
      for (const SharedHeader& header : headers) {
        const std::size_t at = text.find(header.text);
        const bool ready = std::all_of(header.includes.begin(), header.includes.end(),
                                       [&](const auto& name) { return hoisted.contains(name); });
        if (at == std::string::npos || !ready || at >= first) continue;
        first = at;
        next = &header;
      }
      if (next == nullptr) break;
      text.erase(first, next->text.size());
      if (hoisted.insert(next->name).second) out += next->text;
      found = true;
    }
  }
  return out;
}

std::set<std::string> clashing_arrays(const std::vector<std::string>& texts) {
  constexpr std::string_view declares = "extern __shared__";
  std::map<std::string, std::set<std::string>> declared;  // by name
  for (const std::string& text : texts) {
    for (std::size_t at = text.find(declares); at != std::string::npos;
         at = text.find(declares, at + 1)) {
      std::size_t end = std::min(text.find('[', at), text.size());
      while (end > at && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
      std::size_t begin = end;
      while (begin > at && is_identifier_character(text[begin - 1])) --begin;
      if (begin < end) declared[text.substr(begin, end - begin)].insert(text.substr(at, end - at));
    }
  }
  std::set<std::string> clashing;
  for (const auto& [name, ways] : declared) {
    if (ways.size() > 1) clashing.insert(name);
  }
  return clashing;
}

std::set<std::string> macros_in(const std::string& text) {
  std::set<std::string> names;
  constexpr std::string_view define = "#define ";
  for (std::size_t at = text.find(define); at != std::string::npos;
       at = text.find(define, at + 1)) {
    const std::size_t begin = at + define.size();
    std::size_t end = begin;
    while (end < text.size() && is_identifier_character(text[end])) ++end;
    names.insert(text.substr(begin, end - begin));
  }
  return names;
}

}  // namespace cupilot
