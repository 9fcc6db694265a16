// The file of measured peaks (docs/formats/peaks.md).
#include <cupilot/parts/peaks.hpp>

#include <filesystem>

#include <fmt/core.h>

#include <cupilot/parts/host.hpp>

#include "base/json.hpp"

namespace cupilot {
namespace {

using Json = OrderedJson;

constexpr std::string_view format = "cupilot-peaks";
constexpr int newest = 1;

Json put(const Ceiling& c) {
  return {{"name", c.name},
          {"unit", c.unit},
          {"value", c.value},
          {"repeats", c.repeats},
          {"how", c.how}};
}

Json put(const Peaks& p) {
  Json ceilings = Json::array();
  for (const Ceiling& ceiling : p.ceilings) ceilings.push_back(put(ceiling));
  return {{"device", p.device}, {"identity", p.identity},          {"measured", p.measured},
          {"source", p.source}, {"ceilings", std::move(ceilings)}, {"conditions", p.conditions}};
}

Peaks peaks_of(const Json& json) {
  Peaks p;
  json.at("device").get_to(p.device);
  json.at("identity").get_to(p.identity);
  json.at("measured").get_to(p.measured);
  json.at("source").get_to(p.source);
  json.at("conditions").get_to(p.conditions);
  for (const Json& row : json.at("ceilings")) {
    p.ceilings.push_back({row.at("name").get<std::string>(), row.at("unit").get<std::string>(),
                          row.at("value").get<double>(),
                          row.at("repeats").get<std::vector<double>>(),
                          row.at("how").get<std::string>()});
  }
  return p;
}

Error unreadable(const std::string& path, const std::string& why) {
  return {ErrorCode::usage, fmt::format("{}: no file of measured peaks: {}", path, why),
          "remove it and measure again with `cupilot peaks`"};
}

// The whole file; an empty one where there is none yet.
Result<Json> read(const std::string& path) {
  if (!real_host().exists(path))
    return Json{{"format", format}, {"version", newest}, {"devices", Json::array()}};
  auto text = real_host().read_file(path);
  if (!text) return text.error();
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != format)
    return unreadable(path, "not in its format");
  if (json.value("version", Json()) != newest)
    return unreadable(path, "written by another version");
  if (!json.contains("devices") || !json["devices"].is_array())
    return unreadable(path, "it lists no devices");
  return json;
}

}  // namespace

Result<std::optional<Peaks>> load_peaks(const std::string& path, std::string_view identity) {
  auto file = read(path);
  if (!file) return file.error();
  try {
    for (const Json& row : (*file)["devices"]) {
      if (row.at("identity") == identity) return std::optional(peaks_of(row));
    }
  } catch (const Json::exception& damage) {
    return unreadable(path, damage.what());
  }
  return std::optional<Peaks>();
}

Result<void> save_peaks(const Peaks& peaks, const std::string& path) {
  auto file = read(path);
  if (!file) return file.error();
  Json kept = Json::array();
  for (Json& row : (*file)["devices"]) {
    if (!row.is_object() || row.value("identity", Json()) != peaks.identity)
      kept.push_back(std::move(row));
  }
  kept.push_back(put(peaks));
  (*file)["devices"] = std::move(kept);
  const std::string folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) {
    if (auto made = real_host().make_directories(folder); !made) return made;
  }
  return real_host().write_file_atomically(path, file->dump(1) + "\n", true);
}

}  // namespace cupilot
