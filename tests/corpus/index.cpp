#include "index.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace cupilot::coverage {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Entry entry_of(const Json& row) {
  return {row.at("id"), row.at("name"), row.at("family"), row.at("kernel"),
          row.value("sizes", Sizes{})};
}

Feature feature_of(const Json& row) {
  return {row.at("name"), row.at("kernel"), row.value("ptx", Words{}), row.value("text", Words{})};
}

Mutant mutant_of(const Json& row) {
  return {row.at("kernel"), row.at("without"), row.value("nth", 1), row.at("codes")};
}

// What `read` makes of the file's JSON, or an Error that names the file.
template <class T>
Result<T> read_file(const std::string& path, T (*read)(const Json&)) {
  try {
    std::ifstream in(path);
    return read(Json::parse(in));
  } catch (const std::exception& error) {
    return Error{ErrorCode::usage, path + ": " + error.what(), "correct the file"};
  }
}

CorpusIndex index_of(const Json& json) {
  CorpusIndex index;
  for (const Json& row : json.at("level1")) index.level1.push_back(entry_of(row));
  for (const Json& row : json.at("features")) index.features.push_back(feature_of(row));
  return index;
}

std::vector<Mutant> mutants_of(const Json& json) {
  std::vector<Mutant> mutants;
  for (const Json& row : json) mutants.push_back(mutant_of(row));
  return mutants;
}

}  // namespace

Result<CorpusIndex> read_index(const std::string& path) { return read_file(path, index_of); }

Result<std::vector<Mutant>> read_mutants(const std::string& path) {
  return read_file(path, mutants_of);
}

std::string mutated(const std::string& source, const Mutant& mutant) {
  std::size_t at = source.find(mutant.without);
  for (int i = 1; i < mutant.nth && at != std::string::npos; ++i)
    at = source.find(mutant.without, at + 1);
  if (at == std::string::npos) return "";
  return std::string(source).replace(at, mutant.without.size(), ";");
}

}  // namespace cupilot::coverage
