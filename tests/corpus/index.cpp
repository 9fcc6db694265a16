#include "index.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace cupilot::coverage {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Entry entry_of(const Json& row) {
  return {row.at("id"), row.at("name"), row.at("family"), row.at("kernel"), row.value("sizes", Sizes{})};
}

Feature feature_of(const Json& row) {
  return {row.at("name"), row.at("kernel"), row.value("ptx", Words{}), row.value("text", Words{})};
}

}  // namespace

Result<CorpusIndex> read_index(const std::string& path) {
  try {
    std::ifstream in(path);
    const Json json = Json::parse(in);
    CorpusIndex index;
    for (const Json& row : json.at("level1")) index.level1.push_back(entry_of(row));
    for (const Json& row : json.at("features")) index.features.push_back(feature_of(row));
    return index;
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage, path + ": " + error.what(), "correct the index"};
  }
}

}  // namespace cupilot::coverage
