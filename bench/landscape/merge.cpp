#include "merge.hpp"

#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include <cupilot/strategy.hpp>

using namespace cupilot;
using Json = nlohmann::json;

namespace {

// What decides whether two recordings may stand in one file. Cards of a kind differ by a percent or so: rows keep which it was.
std::string subject_of(const Json& header) { return header.at("task").dump() + header.at("device").at("name").dump(); }

// Number of the header's card among those seen so far.
std::size_t card_of(const Json& header, std::vector<Json>& headers) {
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (headers[i].at("identity") == header.at("identity")) return i;
  }
  headers.push_back(header);
  return headers.size() - 1;
}

// The first header, and of the other cards' what tells them apart.
std::string joined(const std::vector<Json>& headers) {
  Json all = headers.front();
  for (std::size_t i = 1; i < headers.size(); ++i)
    all["other_cards"].push_back({{"identity", headers[i].at("identity")}, {"baselines", headers[i].at("baselines")}});
  return all.dump();
}

}  // namespace

Result<int> merge(const std::string& out, const std::vector<std::string>& from) {
  std::vector<Json> headers;
  std::set<std::string> seen;
  std::string rows;
  for (const std::string& path : from) {
    std::ifstream lines(path);
    std::string line;
    std::size_t card = 0;
    for (bool first = true; std::getline(lines, line); first = false) {
      Json row = Json::parse(line, nullptr, false);
      if (row.is_discarded())
        return Error{ErrorCode::usage, path + " is no recorded landscape", "make one with `landscape record`"};
      if (first) {
        if (!headers.empty() && subject_of(headers.front()) != subject_of(row))
          return Error{ErrorCode::usage, path + " is of another task or kind of device than " + from.front(),
                       "merge those of one"};
        card = card_of(row, headers);
        continue;
      }
      auto strategy = strategy_from_json(Json{{"format", "cupilot strategy 1"}, {"techniques", row.at("techniques")}}.dump());
      if (!strategy) return strategy.error();
      row["id"] = strategy_id(*strategy).substr(0, 16);
      if (card > 0) row["card"] = card;
      if (seen.insert(row["id"]).second) rows += row.dump() + "\n";
    }
  }
  std::ofstream(out) << joined(headers) << "\n" << rows;
  return static_cast<int>(seen.size());
}
