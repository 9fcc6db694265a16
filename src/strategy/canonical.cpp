#include "strategy/canonical.hpp"

#include <algorithm>
#include <string_view>

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

std::string values_json(const Use& use) {
  const Technique* technique = find_technique(use.technique);
  std::string out;
  for (const auto& [name, value] : use.values) {
    if (is_default(technique, name, value)) continue;
    out += out.empty() ? "{" : ",";
    append_quoted(out, name);
    out += ':' + std::to_string(value);
  }
  return out.empty() ? out : out + '}';
}

std::string use_json(const Use& use) {
  std::string out = "{\"name\":";
  append_quoted(out, use.technique);
  std::vector<std::string> on = use.on;
  std::sort(on.begin(), on.end());
  on.erase(std::unique(on.begin(), on.end()), on.end());
  for (std::size_t i = 0; i < on.size(); ++i) {
    out += i == 0 ? ",\"on\":[" : ",";
    append_quoted(out, on[i]);
  }
  if (!on.empty()) out += ']';
  if (!use.text.empty()) {
    out += ",\"text\":";
    append_quoted(out, use.text);
  }
  const std::string values = values_json(use);
  if (!values.empty()) out += ",\"values\":" + values;
  return out + '}';
}

}  // namespace

std::string canonical_json(const Strategy& strategy) {
  std::vector<std::string> uses;
  uses.reserve(strategy.uses.size());
  for (const Use& use : strategy.uses) uses.push_back(use_json(use));
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  std::string out = "{\"techniques\":[";
  for (std::size_t i = 0; i < uses.size(); ++i) out += (i == 0 ? "" : ",") + uses[i];
  return out + "]}";
}

std::string strategy_id(const Strategy& strategy) { return sha256_hex(canonical_json(strategy)); }

}  // namespace cupilot
