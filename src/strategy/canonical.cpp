#include "strategy/canonical.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <cupilot/technique.hpp>

#include "base/hash.hpp"

namespace cupilot {
namespace {

constexpr std::string_view short_escapes = "\b\t\n\f\r";

// Text as RFC 8785 writes it.
void append_quoted(std::string& out, const std::string& text) {
  constexpr char hex[] = "0123456789abcdef";
  const auto plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
  out += '"';
  if (std::all_of(text.begin(), text.end(), plain)) {
    out += text;
    out += '"';
    return;
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (const auto at = short_escapes.find(c); at != std::string_view::npos && c != '\0') {
      out += '\\';
      out += "btnfr"[at];
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

bool is_default(const Technique* technique, const std::string& parameter, std::int64_t value) {
  if (technique == nullptr) return false;
  for (const TechniqueParameter& candidate : technique->parameters) {
    if (candidate.name == parameter) return candidate.fallback == value;
  }
  return false;
}

void append_values(std::string& out, const Use& use) {
  const Technique* technique = find_technique(use.technique);
  bool any = false;
  for (const auto& [name, value] : use.values) {
    if (is_default(technique, name, value)) continue;
    out += any ? "," : ",\"values\":{";
    any = true;
    append_quoted(out, name);
    char digits[24];
    out += ':';
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  if (any) out += '}';
}

void append_operations(std::string& out, std::vector<std::string> on) {
  if (on.empty()) return;
  std::sort(on.begin(), on.end());
  on.erase(std::unique(on.begin(), on.end()), on.end());
  for (std::size_t i = 0; i < on.size(); ++i) {
    out += i == 0 ? ",\"on\":[" : ",";
    append_quoted(out, on[i]);
  }
  out += ']';
}

void append_use(std::string& out, const Use& use) {
  out += "{\"name\":";
  append_quoted(out, use.technique);
  append_operations(out, use.on);
  if (!use.text.empty()) {
    out += ",\"text\":";
    append_quoted(out, use.text);
  }
  append_values(out, use);
  out += '}';
}

}  // namespace

std::string canonical_json(const Strategy& strategy) {
  std::string text;
  std::vector<std::size_t> ends;
  text.reserve(64 * strategy.uses.size());
  for (const Use& use : strategy.uses) {
    append_use(text, use);
    ends.push_back(text.size());
  }
  std::vector<std::string_view> uses;
  for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
    uses.push_back(std::string_view(text).substr(begin, ends[i] - begin));
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  std::string out = "{\"techniques\":[";
  out.reserve(text.size() + uses.size() + 32);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (i > 0) out += ',';
    out += uses[i];
  }
  return out + "]}";
}

std::string strategy_id(const Strategy& strategy) { return sha256_hex(canonical_json(strategy)); }

}  // namespace cupilot
