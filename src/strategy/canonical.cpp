#include "strategy/canonical.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include <cupilot/parts/technique.hpp>

#include "base/hash.hpp"

namespace cupilot {
namespace {

constexpr std::string_view short_escapes = "\b\t\n\f\r";

// Text as RFC 8785 writes it.
void append_quoted(std::string& out, const std::string& text) {
  constexpr char hex[] = "0123456789abcdef";
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
  };
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

// A name of the catalogue holds nothing to escape.
void append_name(std::string& out, const std::string& name, bool known) {
  if (!known) return append_quoted(out, name);
  out += '"';
  out += name;
  out += '"';
}

const TechniqueParameter* parameter_of(const Technique* technique, const std::string& name) {
  if (technique == nullptr) return nullptr;
  const auto found =
      std::find_if(technique->parameters.begin(), technique->parameters.end(),
                   [&](const TechniqueParameter& parameter) { return parameter.name == name; });
  return found == technique->parameters.end() ? nullptr : &*found;
}

void append_values(std::string& out, const Use& use, const Technique* technique) {
  bool any = false;
  for (const auto& [name, value] : use.values) {
    const TechniqueParameter* parameter = parameter_of(technique, name);
    if (parameter != nullptr && parameter->fallback == value) continue;
    out += any ? "," : ",\"values\":{";
    any = true;
    append_name(out, name, parameter != nullptr);
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
  const Technique* technique = find_technique(use.technique);
  out += "{\"name\":";
  append_name(out, use.technique, technique != nullptr);
  append_operations(out, use.on);
  if (!use.text.empty()) {
    out += ",\"text\":";
    append_quoted(out, use.text);
  }
  append_values(out, use, technique);
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

std::string canonical_json(const ProgramStrategy& program) {
  if (program.parts.size() == 1) return canonical_json(program.parts.front().strategy);
  std::string out = "{\"parts\":[";
  for (std::size_t i = 0; i < program.parts.size(); ++i) {
    out += i > 0 ? ",{" : "{";
    std::string operations;
    append_operations(operations, program.parts[i].on);
    if (!operations.empty()) out += operations.substr(1) + ",";
    out += canonical_json(program.parts[i].strategy).substr(1);
  }
  return out + "]}";
}

std::string strategy_id(const ProgramStrategy& program) {
  return sha256_hex(canonical_json(program));
}

std::string strategy_id(const Strategy& strategy) { return sha256_hex(canonical_json(strategy)); }

}  // namespace cupilot
