// Reading a tunable .cu (docs/formats/tunable.md).
#include <cupilot/tunable.hpp>

#include <fmt/core.h>

#include <algorithm>

#include "kernel/file_text.hpp"
#include "kernel/plan_json.hpp"

namespace cupilot {
namespace {

constexpr std::string_view opening = "/* cupilot tunable ";
constexpr std::string_view version = "1";
constexpr std::size_t file_limit = 1u << 20;  // bytes of one tunable
constexpr std::size_t domain_limit = 256;     // values of one parameter

struct Parts {
  std::string_view json;
  std::string_view text;
};

Result<Parts> split(std::string_view file, const std::string& where) {
  const std::string fix = "start the file with a line `/* cupilot tunable 1`, the JSON, then a line `*/`";
  if (file.size() > file_limit) return json_fault(where, fmt::format("over {} bytes", file_limit));
  if (!file.starts_with(opening)) return json_fault(where, "no tunable header", fix);
  const std::size_t line = file.find('\n');
  std::string_view number = file.substr(opening.size(), line == std::string_view::npos ? line : line - opening.size());
  while (!number.empty() && (number.back() == '\r' || number.back() == ' ')) number.remove_suffix(1);
  if (number != version)
    return json_fault(where, fmt::format("tunable version \"{}\"; this cupilot reads {}", number, version), fix);
  std::size_t close = line;
  while (close != std::string_view::npos && !file.substr(close + 1).starts_with("*/")) close = file.find('\n', close + 1);
  if (close == std::string_view::npos) return json_fault(where, "the header comment has no line `*/`", fix);
  std::string_view rest = file.substr(close + 3);
  if (const std::size_t end = rest.find('\n'); end != std::string_view::npos) rest.remove_prefix(end + 1);
  return Parts{file.substr(line + 1, close - line), rest};
}

bool is_technique(std::string_view word) {
  return is_identifier(word) && std::none_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void check_techniques(ObjectReader& reader, const char* key, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_technique(names[i]))
      reader.fail(fmt::format("{}[{}]", key, i), fmt::format("\"{}\" is no technique name", names[i]),
                  "lower-case letters, digits and '_'");
    if (std::count(names.begin(), names.end(), names[i]) > 1) reader.fail(key, fmt::format("\"{}\" stands twice", names[i]));
  }
}

TunableParameter parameter_from(ObjectReader& reader, const std::string& constant) {
  TunableParameter parameter;
  parameter.constant = constant;
  parameter.name = reader.text("name", false, constant);
  parameter.technique = reader.text("technique", false);
  parameter.domain = reader.integers("domain", true);
  if (reader.fault()) return parameter;
  if (!is_identifier(constant))
    reader.fail("", fmt::format("\"{}\" is no identifier", constant), "it becomes a constexpr of the kernel");
  if (!is_identifier(parameter.name)) reader.fail("name", fmt::format("\"{}\" is no identifier", parameter.name));
  if (!parameter.technique.empty() && !is_technique(parameter.technique)) {
    reader.fail("technique", fmt::format("\"{}\" is no technique name", parameter.technique),
                "lower-case letters, digits and '_'");
  }
  if (parameter.domain.empty() || parameter.domain.size() > domain_limit) {
    reader.fail("domain", fmt::format("has {} values", parameter.domain.size()), fmt::format("want 1 to {}", domain_limit));
    return parameter;
  }
  for (const std::int64_t value : parameter.domain) {
    if (std::count(parameter.domain.begin(), parameter.domain.end(), value) > 1)
      reader.fail("domain", fmt::format("{} stands twice", value));
    // A constexpr int of the kernel text.
    if (value < INT32_MIN || value > INT32_MAX) reader.fail("domain", fmt::format("{} does not fit an int", value));
  }
  // A technique that is not used may need a value of its own (0: off); a template's own knob starts at one of its domain.
  parameter.plain = reader.integer("plain", false, parameter.domain.front());
  const bool inside = std::count(parameter.domain.begin(), parameter.domain.end(), parameter.plain) > 0;
  if (parameter.technique.empty() && !inside && !reader.fault()) {
    reader.fail("plain", fmt::format("{} is not in the domain", parameter.plain), "name a value of the domain");
  }
  if (parameter.plain < INT32_MIN || parameter.plain > INT32_MAX) reader.fail("plain", "does not fit an int");
  return parameter;
}

std::vector<TunableParameter> parameters_from(ObjectReader& tunable) {
  std::vector<TunableParameter> all;
  const Json* parameters = tunable.find_object("parameters", true);
  for (auto item = parameters ? parameters->begin() : Json::const_iterator{}; parameters && item != parameters->end(); ++item) {
    ObjectReader reader(item.value(), tunable.place("parameters." + item.key()), {"name", "technique", "domain", "plain"});
    if (!reader.fault()) all.push_back(parameter_from(reader, item.key()));
    if (reader.fault()) return tunable.adopt(*reader.fault()), all;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].name == all.back().name && all[i].technique == all.back().technique) {
        tunable.fail("parameters." + item.key(), fmt::format("{} is already the {} of {}", all[i].constant, all[i].name,
                                                             all[i].technique.empty() ? "the template" : all[i].technique));
      }
    }
  }
  return all;
}

}  // namespace

Result<Tunable> parse_tunable(std::string_view text, const std::string& file) {
  const auto parts = split(text, file);
  if (!parts) return parts.error();
  auto json = parse_object(parts->json, file);
  if (!json) return std::move(json.error());
  ObjectReader reader(
      *json, file, {"name", "family", "summary", "provides", "requires", "when", "parameters", "restrict", "registers", "plan"});
  Tunable tunable;
  tunable.file = file;
  tunable.text = std::string(parts->text);
  tunable.name = reader.text("name", true);
  tunable.family = reader.text("family", true);
  tunable.summary = reader.text("summary", false);
  tunable.provides = reader.texts("provides", false);
  tunable.requires_techniques = reader.texts("requires", false);
  tunable.when = reader.exprs("when", false, 0, SIZE_MAX);
  tunable.parameters = parameters_from(reader);
  tunable.restrictions = reader.exprs("restrict", false, 0, SIZE_MAX);
  tunable.registers = reader.expr("registers", false);
  const Json* plan = reader.find_object("plan", true);
  if (!reader.fault() && !is_technique(tunable.name)) {
    reader.fail("name", fmt::format("\"{}\" is no template name", tunable.name), "lower-case letters, digits and '_'");
  }
  if (!reader.fault() && tunable.family.empty()) reader.fail("family", "is empty", "the family of tasks it serves, such as gemm");
  check_techniques(reader, "provides", tunable.provides);
  check_techniques(reader, "requires", tunable.requires_techniques);
  if (!reader.fault() && tunable.text.find_first_not_of(" \t\r\n") == std::string::npos)
    reader.fail("text", "no kernel stands below the header");
  if (reader.fault()) return *reader.fault();
  auto read = plan_from(*plan, file + ".plan");
  if (!read) return std::move(read.error());
  tunable.plan = std::move(*read);
  return tunable;
}

Result<Tunable> load_tunable(const std::string& path) {
  const auto text = file_text(path);
  if (!text) return Error{ErrorCode::usage, path + ": cannot be read", "name a tunable .cu file"};
  return parse_tunable(*text, path);
}

}  // namespace cupilot
