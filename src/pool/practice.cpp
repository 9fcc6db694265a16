#include <cupilot/parts/pool.hpp>

#include "base/json.hpp"
#include "pool/practice_files.hpp"

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

Result<std::vector<PoolEntry>> shipped_practice() {
  std::vector<PoolEntry> all;
  try {
    const Json json = Json::parse(find_embedded(practice_files(), "pool/practice/gemm.json"));
    for (const Json& one : json.at("entries")) {
      auto entry = entry_of(one);
      if (!entry) return entry.error();
      all.push_back(std::move(*entry));
    }
  } catch (const Json::exception& fault) {
    return Error{ErrorCode::failure,
                 std::string("the shipped practice cannot be read: ") + fault.what(),
                 "this is a fault of cupilot"};
  }
  return all;
}

}  // namespace cupilot
