#include "strategy/technique_rows.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.hpp"

namespace cupilot {
namespace {

using Json = OrderedJson;

constexpr std::array resource_names = {"dram",  "l2",      "shared",    "fp_pipe", "tensor_pipe",
                                       "issue", "latency", "occupancy", "launch",  "tail"};

constexpr std::array<std::string_view, 6> works = {
    "products",     "reductions", "normalised_exponentials",
    "exponentials", "windows",    "triangular_products"};

Error malformed_row(const std::string& origin, const std::string& row, const std::string& reason) {
  return {ErrorCode::usage, fmt::format("{}: technique '{}': {}", origin, row, reason),
          "docs/formats/family.md describes the file"};
}

// Fields that the table lists; another one is a mistake of spelling.
void refuse_others(const Json& json, const std::set<std::string>& known) {
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key))
      throw nlohmann::detail::other_error::create(501, "unknown field '" + key + "'", nullptr);
  }
}

Resource resource_of(const std::string& name) {
  const auto at = std::find(resource_names.begin(), resource_names.end(), name);
  if (at == resource_names.end())
    throw nlohmann::detail::other_error::create(501, "'" + name + "' is no resource", nullptr);
  return static_cast<Resource>(at - resource_names.begin());
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  return json.value(key, std::vector<std::string>());
}

TechniqueParameter parameter_from(const Json& json) {
  refuse_others(json, {"name", "domain", "labels", "default"});
  TechniqueParameter parameter{.name = json.at("name").get<std::string>(),
                               .domain = json.at("domain").get<std::vector<std::int64_t>>(),
                               .labels = texts_of(json, "labels"),
                               .fallback = json.at("default").get<std::int64_t>()};
  const auto& domain = parameter.domain;
  if (std::find(domain.begin(), domain.end(), parameter.fallback) == domain.end()) {
    throw nlohmann::detail::other_error::create(
        501, "the default of " + parameter.name + " is not in its domain", nullptr);
  }
  return parameter;
}

TechniqueRow row_from(const Json& json) {
  refuse_others(json, {"name", "summary", "sentence", "parameters", "targets", "needs", "excludes",
                       "must", "group", "before", "of"});
  TechniqueRow row;
  row.technique = {.name = json.at("name").get<std::string>(),
                   .summary = json.at("summary").get<std::string>(),
                   .sentence = json.at("sentence").get<std::string>(),
                   .needs = texts_of(json, "needs"),
                   .excludes = texts_of(json, "excludes"),
                   .must = texts_of(json, "must"),
                   .group = json.value("group", std::string()),
                   .of = json.value("of", std::string())};
  const std::string& of = row.technique.of;
  if (!of.empty() && std::find(works.begin(), works.end(), of) == works.end())
    throw nlohmann::detail::other_error::create(
        501, fmt::format("`of` is left out or one of {}", fmt::join(works, ", ")), nullptr);
  for (const std::string& name : texts_of(json, "targets"))
    row.technique.targets.push_back(resource_of(name));
  if (const auto parameters = json.find("parameters"); parameters != json.end()) {
    for (const Json& one : *parameters) row.technique.parameters.push_back(parameter_from(one));
  }
  row.before = json.value("before", std::string());
  return row;
}

}  // namespace

std::string_view name_of(Resource resource) {
  return resource_names[static_cast<std::size_t>(resource)];
}

Result<std::vector<TechniqueRow>> technique_rows(std::string_view json, const std::string& origin) {
  std::vector<TechniqueRow> rows;
  std::string at = "?";
  try {
    const Json whole = Json::parse(json);
    refuse_others(whole, {"cupilot_techniques", "note", "techniques"});
    if (whole.at("cupilot_techniques").get<int>() != 1)
      return malformed_row(origin, at, "the file is of another version than 1");
    for (const Json& one : whole.at("techniques")) {
      at = one.is_object() ? one.value("name", std::string("?")) : "?";
      rows.push_back(row_from(one));
    }
  } catch (const Json::exception& fault) {
    return malformed_row(origin, at, fault.what());
  }
  return rows;
}

Result<void> add_rows(std::vector<TechniqueRow> rows, const std::string& origin,
                      std::vector<Technique>& all) {
  const auto find = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Technique& technique) { return technique.name == name; });
  };
  for (TechniqueRow& row : rows) {
    if (find(row.technique.name) != all.end())
      return malformed_row(origin, row.technique.name, "the catalogue has one of this name");
    all.insert(find(row.before), std::move(row.technique));
  }
  return {};
}

}  // namespace cupilot
