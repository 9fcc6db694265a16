#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <cupilot/parts/program_strategy.hpp>
#include <cupilot/parts/technique.hpp>
#include <cupilot/strategy.hpp>

#include "strategy/strategy_json.hpp"

namespace cupilot {
namespace {

using Json = OrderedJson;
constexpr std::string_view format_mark = "cupilot strategy 1";
constexpr std::size_t longest = 1 << 20;
constexpr int deepest = 8;

Error malformed(std::string reason) {
  return {ErrorCode::usage, "strategy: " + std::move(reason),
          "docs/formats/strategy.md describes the format"};
}

const TechniqueParameter* parameter_of(const std::string& technique, const std::string& name) {
  const Technique* row = find_technique(technique);
  if (row == nullptr) return nullptr;
  for (const TechniqueParameter& parameter : row->parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// Refuses what a lenient parser hides: doubled keys and deep nesting.
Result<Json> parse_strictly(std::string_view text) {
  if (text.size() > longest) return malformed("the text is longer than 1 MiB");
  std::vector<std::set<std::string>> keys;
  std::string fault;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > deepest && fault.empty()) fault = "nested too deeply";
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second &&
        fault.empty()) {
      fault = fmt::format("key '{}' stands twice", value.get<std::string>());
    }
    return depth <= deepest;
  };
  try {
    Json json = Json::parse(text, watch);
    if (!fault.empty()) return malformed(fault);
    return json;
  } catch (const Json::exception& fault_of_parser) {
    return malformed(fmt::format("not JSON: {}", fault_of_parser.what()));
  }
}

Result<void> allow_keys(const Json& object, std::initializer_list<std::string_view> allowed,
                        const std::string& where) {
  if (!object.is_object()) return malformed(where + " is not an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      return malformed(fmt::format("unknown key '{}' in {}", key, where));
    }
  }
  return {};
}

Result<std::string> read_text(const Json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) return std::string();
  if (!object[key].is_string())
    return malformed(fmt::format("'{}' of {} is not a text", key, where));
  return object[key].get<std::string>();
}

Result<std::vector<std::string>> read_texts(const Json& object, const char* key,
                                            const std::string& where) {
  std::vector<std::string> texts;
  if (!object.contains(key)) return texts;
  const Json& list = object[key];
  if (!list.is_array()) return malformed(fmt::format("'{}' of {} is not a list", key, where));
  for (const Json& item : list) {
    if (!item.is_string())
      return malformed(fmt::format("'{}' of {} holds something that is not a text", key, where));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<std::int64_t> read_value(const Json& json, const std::string& technique,
                                const std::string& name) {
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX);
  if (fits) return json.get<std::int64_t>();
  const TechniqueParameter* parameter = parameter_of(technique, name);
  if (json.is_string() && parameter != nullptr) {
    const auto at =
        std::find(parameter->labels.begin(), parameter->labels.end(), json.get<std::string>());
    const auto position = static_cast<std::size_t>(at - parameter->labels.begin());
    if (position < parameter->labels.size()) return parameter->domain[position];
  }
  return malformed(fmt::format("{}.{} is neither a 64-bit integer nor a label of it: {}", technique,
                               name, json.dump()));
}

Result<Use> read_use(const Json& json, std::size_t position) {
  std::string where = fmt::format("techniques[{}]", position);
  if (Result<void> keys = allow_keys(json, {"name", "values", "text", "on"}, where); !keys)
    return keys.error();
  Use use;
  Result<std::string> name = read_text(json, "name", where);
  if (!name) return name.error();
  if (name->empty()) return malformed(where + " has no name");
  use.technique = *name;
  Result<std::string> text = read_text(json, "text", where);
  if (!text) return text.error();
  use.text = *text;
  Result<std::vector<std::string>> on = read_texts(json, "on", where);
  if (!on) return on.error();
  use.on = *on;
  if (!json.contains("values")) return use;
  if (!json["values"].is_object())
    return malformed(fmt::format("'values' of {} is not an object", where));
  for (const auto& [parameter, value] : json["values"].items()) {
    const Result<std::int64_t> number = read_value(value, use.technique, parameter);
    if (!number) return number.error();
    use.values[parameter] = *number;
  }
  return use;
}

template <class Written>
Written write_use(const Use& use) {
  Written json = {{"name", use.technique}}, values = Written::object();
  for (const auto& [name, value] : use.values) {
    values[name] = value;
    const TechniqueParameter* parameter = parameter_of(use.technique, name);
    if (parameter == nullptr) continue;
    const auto at = std::find(parameter->domain.begin(), parameter->domain.end(), value);
    const auto position = static_cast<std::size_t>(at - parameter->domain.begin());
    if (position < parameter->labels.size()) values[name] = parameter->labels[position];
  }
  // A null that becomes an object on demand is left without contents where that allocation fails,
  // and cannot be destroyed.
  if (!values.empty()) json["values"] = std::move(values);
  if (!use.text.empty()) json["text"] = use.text;
  if (!use.on.empty()) json["on"] = use.on;
  return json;
}

Result<std::vector<Use>> read_uses(const Json& json) {
  if (!json.contains("techniques") || !json["techniques"].is_array())
    return malformed("'techniques' is missing or not a list");
  std::vector<Use> uses;
  std::set<std::string> seen;
  for (const Json& item : json["techniques"]) {
    Result<Use> use = read_use(item, uses.size());
    if (!use) return use.error();
    std::vector<std::string> on = use->on;
    std::sort(on.begin(), on.end());
    // Free-form techniques share a name and differ in text.
    if (!seen.insert(Json{use->technique, on, use->text}.dump()).second) {
      return malformed(
          fmt::format("technique {} stands twice for the same operations", use->technique));
    }
    uses.push_back(std::move(*use));
  }
  return uses;
}

template <class Written>
Written write_uses(const std::vector<Use>& uses) {
  Written techniques = Written::array();
  for (const Use& use : uses) techniques.push_back(write_use<Written>(use));
  return techniques;
}

// Prose and origin of a strategy or of a program's.
template <class Written, class Of>
void write_origin(Written& json, const Of& of) {
  if (!of.rationale.empty()) json["rationale"] = of.rationale;
  if (!of.parents.empty()) json["parents"] = of.parents;
  if (!of.origin.empty()) json["origin"] = of.origin;
}

template <class Written>
Written write(const Strategy& strategy) {
  Written json = {{"format", format_mark}, {"techniques", write_uses<Written>(strategy.uses)}};
  write_origin(json, strategy);
  return json;
}

template <class Of>
Result<void> read_origin(const Json& json, const std::string& where, Of& of) {
  Result<std::string> rationale = read_text(json, "rationale", where);
  if (!rationale) return rationale.error();
  Result<std::vector<std::string>> parents = read_texts(json, "parents", where);
  if (!parents) return parents.error();
  Result<std::string> origin = read_text(json, "origin", where);
  if (!origin) return origin.error();
  of.rationale = std::move(*rationale);
  of.parents = std::move(*parents);
  of.origin = std::move(*origin);
  return {};
}

Result<PartStrategy> read_part(const Json& json, std::size_t position) {
  const std::string where = fmt::format("parts[{}]", position);
  if (auto keys = allow_keys(json, {"on", "techniques"}, where); !keys) return keys.error();
  auto on = read_texts(json, "on", where);
  if (!on) return on.error();
  auto uses = read_uses(json);
  if (!uses) return std::move(uses.error()).while_doing(where);
  return PartStrategy{std::move(*on), {std::move(*uses)}};
}

Error not_the_partition(std::size_t position) {
  return malformed(fmt::format("'on' of parts[{}] is not 'partition'[{}]", position, position));
}

// An operation is a part's for good: maps that several parts clone are not told apart here.
Result<void> check_partition(const Json& json, const std::vector<PartStrategy>& parts) {
  const Json& partition = json["partition"];
  if (!partition.is_array()) return malformed("'partition' is not a list");
  if (partition.size() != parts.size()) {
    return malformed(
        fmt::format("'partition' has {} parts, 'parts' has {}", partition.size(), parts.size()));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!partition[i].is_array()) return malformed("'partition' holds something that is no list");
    if (partition[i] != Json(parts[i].on)) return not_the_partition(i);
  }
  return {};
}

Result<ProgramStrategy> read_program(const Json& json) {
  const std::string where = "the strategy";
  if (auto keys = allow_keys(
          json, {"format", "partition", "parts", "rationale", "parents", "origin"}, where);
      !keys)
    return keys.error();
  if (!json["parts"].is_array() || json["parts"].empty())
    return malformed("'parts' is not a list of at least one part");
  ProgramStrategy program;
  std::set<std::string> placed;
  for (const Json& item : json["parts"]) {
    auto part = read_part(item, program.parts.size());
    if (!part) return part.error();
    for (const std::string& operation : part->on) {
      if (!placed.insert(operation).second)
        return malformed(fmt::format("operation {} stands in two parts", operation));
    }
    if (part->on.empty() && json["parts"].size() > 1)
      return malformed(fmt::format("parts[{}] names no operation", program.parts.size()));
    program.parts.push_back(std::move(*part));
  }
  if (json.contains("partition")) {
    if (auto fits = check_partition(json, program.parts); !fits) return fits.error();
  }
  if (auto origin = read_origin(json, where, program); !origin) return origin.error();
  return program;
}

Result<Strategy> read_strategy(const Json& json) {
  const std::string where = "the strategy";
  if (auto keys =
          allow_keys(json, {"format", "techniques", "rationale", "parents", "origin"}, where);
      !keys)
    return keys.error();
  Strategy strategy;
  auto uses = read_uses(json);
  if (!uses) return uses.error();
  strategy.uses = std::move(*uses);
  if (auto origin = read_origin(json, where, strategy); !origin) return origin.error();
  return strategy;
}

// The text as JSON of the format.
Result<Json> read_format(std::string_view text) {
  Result<Json> json = parse_strictly(text);
  if (!json) return json;
  const std::string where = "the strategy";
  if (!json->is_object()) return malformed(where + " is not an object");
  const Result<std::string> format = read_text(*json, "format", where);
  if (!format) return format.error();
  if (*format != format_mark)
    return malformed(fmt::format("'format' is '{}', expected '{}'", *format, format_mark));
  return json;
}

}  // namespace

SortedJson sorted_json(const Strategy& strategy) { return write<SortedJson>(strategy); }

std::string strategy_to_json(const Strategy& strategy) {
  return write<Json>(strategy).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Strategy> strategy_from_json(std::string_view text) {
  const Result<Json> json = read_format(text);
  if (!json) return json.error();
  if (!json->contains("parts")) return read_strategy(*json);
  const Result<ProgramStrategy> program = read_program(*json);
  if (!program) return program.error();
  return as_strategy(*program);
}

std::string program_strategy_to_json(const ProgramStrategy& program) {
  if (program.parts.size() == 1) return strategy_to_json(as_strategy(program));
  Json json = {{"format", format_mark}, {"partition", Json::array()}, {"parts", Json::array()}};
  for (const PartStrategy& part : program.parts) {
    json["partition"].push_back(part.on);
    json["parts"].push_back(
        {{"on", part.on}, {"techniques", write_uses<Json>(part.strategy.uses)}});
  }
  write_origin(json, program);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ProgramStrategy> program_strategy_from_json(std::string_view text) {
  const Result<Json> json = read_format(text);
  if (!json) return json.error();
  if (json->contains("parts")) return read_program(*json);
  auto strategy = read_strategy(*json);
  if (!strategy) return strategy.error();
  ProgramStrategy program;
  program.parts.push_back({{}, {strategy->uses}});
  program.rationale = std::move(strategy->rationale);
  program.parents = std::move(strategy->parents);
  program.origin = std::move(strategy->origin);
  return program;
}

}  // namespace cupilot
