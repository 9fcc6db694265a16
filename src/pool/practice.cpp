#include <cupilot/parts/pool.hpp>

#include "base/embedded.hpp"
#include "base/json.hpp"
#include "pool/practice.hpp"

namespace cupilot {
namespace {

using Json = SortedJson;

Result<PoolEntry> entry_of(const Json& json) {
  auto strategy = strategy_from_json(json.at("strategy").dump());
  if (!strategy) return strategy.error();
  PoolEntry entry;
  entry.strategy = std::move(*strategy);
  entry.family = json.at("family").get<std::string>();
  entry.precision = json.at("precision").get<std::string>();
  entry.device = json.at("arch").get<std::string>();
  const auto zone = json.at("zone").get<std::string>();
  for (const Zone one : {Zone::memory, Zone::middle, Zone::compute}) {
    if (name_of(one) == zone) entry.zone = one;
  }
  entry.shape = json.at("shape").get<std::string>();
  entry.text = json.at("text").get<std::string>();
  entry.origin = "practice";
  return entry;
}

}  // namespace

Result<std::vector<PoolEntry>> practice_from(std::string_view json, const std::string& origin) {
  std::vector<PoolEntry> all;
  const auto failed = [&](const std::string& reason) {
    return Error{ErrorCode::usage,
                 origin + ": entries[" + std::to_string(all.size()) + "]: " + reason,
                 "docs/formats/family.md describes the file"};
  };
  try {
    const Json whole = Json::parse(json);
    for (const Json& one : whole.at("entries")) {
      auto entry = entry_of(one);
      if (!entry) return failed(entry.error().message);
      all.push_back(std::move(*entry));
    }
  } catch (const Json::exception& fault) {
    return failed(fault.what());
  }
  return all;
}

Result<std::vector<PoolEntry>> shipped_practice() {
  std::vector<PoolEntry> all;
  for (const EmbeddedFile& file : kernel_files()) {
    if (!file.name.ends_with("/practice.json")) continue;
    auto entries = practice_from(file.text, "kernels/" + std::string(file.name));
    if (!entries) return entries.error();
    all.insert(all.end(), entries->begin(), entries->end());
  }
  return all;
}

}  // namespace cupilot
