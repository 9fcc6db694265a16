// Reading a tunable .cu (docs/formats/tunable.md).
#include <cupilot/parts/tunable.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "kernel/file_text.hpp"
#include "kernel/library_step.hpp"
#include "kernel/plan_json.hpp"
#include "kernel/tunable_model.hpp"

namespace cupilot {
namespace {

constexpr std::string_view header_opening = "/* cupilot tunable ";
constexpr std::string_view versions[] = {"1", "2"};  // 2: `anchor`
constexpr std::string_view anchors[] = {"map",    "row_reduction", "column_reduction", "scan",
                                        "gather", "contraction",   "window",           "slide",
                                        "local",  "matmul",        "weighted"};
constexpr std::size_t tunable_limit = 1u << 20;  // bytes of one tunable
constexpr std::size_t domain_limit = 256;        // values of one parameter

constexpr const char* model_file_name = "model.json";

constexpr const char* guide = "docs/formats/tunable.md";
constexpr const char* identifier_fix = "use letters, digits and '_', no digit first";
constexpr const char* technique_fix = "use lower-case letters, digits and '_'";

Error fault(const std::string& file, const std::string& reason, const std::string& fix) {
  return {ErrorCode::usage, file + ": " + reason, fix};
}

struct Parts {
  std::string_view json;
  std::string_view text;
};

Result<Parts> split(std::string_view file, const std::string& where) {
  const std::string fix =
      "start the file with a line `/* cupilot tunable 1`, the JSON, then a line `*/`";
  if (file.size() > tunable_limit)
    return fault(where, fmt::format("over {} bytes", tunable_limit), "split it");
  if (!file.starts_with(header_opening)) return fault(where, "no tunable header", fix);
  const std::size_t line = file.find('\n');
  std::string_view number = file.substr(
      header_opening.size(), line == std::string_view::npos ? line : line - header_opening.size());
  while (!number.empty() && (number.back() == '\r' || number.back() == ' '))
    number.remove_suffix(1);
  if (std::find(std::begin(versions), std::end(versions), number) == std::end(versions))
    return fault(where, fmt::format("tunable version \"{}\"; this cupilot reads 1 and 2", number),
                 fix);
  std::size_t close = line;
  while (close != std::string_view::npos && !file.substr(close + 1).starts_with("*/"))
    close = file.find('\n', close + 1);
  if (close == std::string_view::npos)
    return fault(where, "the header comment has no line `*/`", fix);
  std::string_view rest = file.substr(close + 3);
  if (const std::size_t end = rest.find('\n'); end != std::string_view::npos)
    rest.remove_prefix(end + 1);
  return Parts{file.substr(line + 1, close - line), rest};
}

bool is_technique(std::string_view word) {
  return is_identifier(word) &&
         std::none_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void check_techniques(JsonObject& object, const char* key, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_technique(names[i]))
      object.fail(fmt::format("{}[{}]", key, i),
                  fmt::format("\"{}\" is no technique name", names[i]), technique_fix);
    if (std::count(names.begin(), names.end(), names[i]) > 1)
      object.fail(key, fmt::format("\"{}\" stands twice", names[i]), "keep one of them");
  }
}

void check_domain(JsonObject& object, const std::vector<std::int64_t>& domain) {
  if (domain.empty() || domain.size() > domain_limit) {
    return object.fail("domain", fmt::format("has {} values", domain.size()),
                       fmt::format("want 1 to {}", domain_limit));
  }
  for (const std::int64_t value : domain) {
    if (std::count(domain.begin(), domain.end(), value) > 1)
      object.fail("domain", fmt::format("{} stands twice", value), "keep one of them");
    // A constexpr int of the kernel text.
    if (value < INT32_MIN || value > INT32_MAX)
      object.fail("domain", fmt::format("{} does not fit an int", value), "use values of 32 bits");
  }
}

TunableParameter parameter_from(JsonFaults& faults, const Json& json, const std::string& where,
                                const std::string& constant) {
  JsonObject object(faults, json, where);
  TunableParameter parameter;
  parameter.constant = constant;
  parameter.name = object.text("name", false, constant);
  parameter.technique = object.text("technique", false);
  parameter.domain = object.integers("domain", true);
  // A technique that is not used may need a value of its own (0: off); a template's own knob starts
  // at one of its domain.
  parameter.plain =
      object.integer("plain", false, parameter.domain.empty() ? 0 : parameter.domain.front());
  object.done();
  if (!is_identifier(constant)) {
    faults.fail(where, fmt::format("\"{}\" is no identifier", constant), identifier_fix);
  }
  if (!is_identifier(parameter.name))
    object.fail("name", fmt::format("\"{}\" is no identifier", parameter.name), identifier_fix);
  if (!parameter.technique.empty() && !is_technique(parameter.technique)) {
    object.fail("technique", fmt::format("\"{}\" is no technique name", parameter.technique),
                technique_fix);
  }
  check_domain(object, parameter.domain);
  const bool inside =
      std::count(parameter.domain.begin(), parameter.domain.end(), parameter.plain) > 0;
  if (parameter.technique.empty() && !inside) {
    object.fail("plain", fmt::format("{} is not in the domain", parameter.plain),
                "name a value of the domain");
  }
  if (parameter.plain < INT32_MIN || parameter.plain > INT32_MAX)
    object.fail("plain", "does not fit an int", "use a value of 32 bits");
  return parameter;
}

std::vector<TunableParameter> parameters_from(JsonObject& tunable) {
  std::vector<TunableParameter> all;
  const Json* parameters = tunable.find_object("parameters", true);
  if (parameters == nullptr) return all;
  for (const auto& item : parameters->items()) {
    const std::string where = tunable.where("parameters") + "." + item.key();
    const TunableParameter fresh =
        parameter_from(tunable.faults(), item.value(), where, item.key());
    for (const TunableParameter& other : all) {
      if (other.name != fresh.name || other.technique != fresh.technique) continue;
      tunable.faults().fail(where,
                            fmt::format("{} is already the {} of {}", other.constant, other.name,
                                        other.technique.empty() ? "the template" : other.technique),
                            "give it another name or technique");
    }
    all.push_back(fresh);
  }
  return all;
}

}  // namespace

Result<Tunable> parse_tunable(std::string_view text, const std::string& file) {
  const auto parts = split(text, file);
  if (!parts) return parts.error();
  // The header's first line stands above the JSON: faults count lines of the file.
  const std::string header = "\n" + std::string(parts->json);
  const auto json = read_json_object(header, file);
  if (!json) return json.error();
  JsonFaults faults(file, guide);
  JsonObject object(faults, *json, "");
  Tunable tunable;
  tunable.file = file;
  tunable.text = std::string(parts->text);
  tunable.name = object.text("name", true);
  tunable.family = object.text("family", true);
  tunable.summary = object.text("summary", false);
  if (object.find("anchor") != nullptr)
    tunable.anchor = anchors[object.choice("anchor", anchors, 0)];
  tunable.provides = object.texts("provides");
  tunable.requires_techniques = object.texts("requires");
  tunable.when = object.exprs("when", false);
  tunable.parameters = parameters_from(object);
  tunable.restrictions = object.exprs("restrict", false);
  tunable.registers = object.expr("registers", false);
  tunable.let = named_exprs(object, "let");
  if (const Json* plan = object.find_object("plan", true))
    tunable.plan = plan_from(faults, *plan, "plan");
  if (has_library_step(tunable.plan))
    object.fail("plan", "has a library's step", "a template launches kernels of its own text");
  if (const Json* model = object.find_object("model"))
    tunable.model = model_from(faults, *model, "model");
  object.done();
  for (const auto& [path, line] : lines_of_keys(header)) {
    if (path.starts_with("let.") || path.starts_with("plan.let.") || path.starts_with("model."))
      tunable.lines.emplace(path, line);
  }
  share_lets(object, tunable);
  if (!is_technique(tunable.name)) {
    object.fail("name", fmt::format("\"{}\" is no template name", tunable.name), technique_fix);
  }
  if (tunable.family.empty())
    object.fail("family", "is empty", "the family of the tasks that it serves (Task::family)");
  check_techniques(object, "provides", tunable.provides);
  check_techniques(object, "requires", tunable.requires_techniques);
  if (tunable.text.find_first_not_of(" \t\r\n") == std::string::npos)
    object.fail("text", "no kernel stands below the header",
                "write the CUDA C++ below the line `*/`");
  if (faults.first()) return *faults.first();
  return tunable;
}

Result<Tunable> load_tunable(const std::string& path) {
  const auto text = file_text(path);
  if (!text) return Error{ErrorCode::usage, path + ": cannot be read", "name a tunable .cu file"};
  auto tunable = parse_tunable(*text, path);
  if (!tunable || !tunable->model) return tunable;
  const std::string beside = (std::filesystem::path(path).parent_path() / model_file_name).string();
  const auto weights = file_text(beside);
  if (auto set = set_model_weights(*tunable, weights.value_or(""), beside); !set)
    return std::move(set.error());
  return tunable;
}

}  // namespace cupilot
