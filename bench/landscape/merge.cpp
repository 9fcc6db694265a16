#include "merge.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include <cupilot/strategy.hpp>

using namespace cupilot;
using Json = nlohmann::json;

namespace {

// What decides whether two recordings may stand in one file. Cards of a kind differ by a percent or
// so: rows keep which it was.
std::string subject_of(const Json& header) {
  return header.at("task").dump() + header.at("device").at("name").dump();
}

// The cards of a recording: the header's own, then the others it names.
std::vector<Json> cards_of(const Json& header) {
  std::vector<Json> cards = {
      {{"identity", header.at("identity")}, {"baselines", header.at("baselines")}}};
  for (const Json& other : header.value("other_cards", Json::array())) cards.push_back(other);
  return cards;
}

// Number of a card among those seen so far.
std::size_t number_of(const Json& card, std::vector<Json>& cards) {
  const auto same = [&](const Json& other) { return other.at("identity") == card.at("identity"); };
  const auto found = std::find_if(cards.begin(), cards.end(), same);
  if (found == cards.end()) cards.push_back(card);
  return static_cast<std::size_t>(std::find_if(cards.begin(), cards.end(), same) - cards.begin());
}

// The first header, and of the other cards what tells them apart.
std::string joined(Json header, const std::vector<Json>& cards) {
  header.erase("other_cards");
  for (std::size_t i = 1; i < cards.size(); ++i) header["other_cards"].push_back(cards[i]);
  return header.dump();
}

}  // namespace

Result<int> merge(const std::string& out, const std::vector<std::string>& from) {
  Json header;
  std::vector<Json> cards;
  std::set<std::string> seen;
  std::string rows;
  for (const std::string& path : from) {
    std::ifstream lines(path);
    std::string line;
    std::vector<std::size_t> numbers;  // of this file's cards
    for (bool first = true; std::getline(lines, line); first = false) {
      Json row = Json::parse(line, nullptr, false);
      if (row.is_discarded())
        return Error{ErrorCode::usage, path + " is no recorded landscape",
                     "make one with `landscape record`"};
      if (first) {
        if (!header.is_null() && subject_of(header) != subject_of(row))
          return Error{ErrorCode::usage,
                       path + " is of another task or kind of device than " + from.front(),
                       "merge those of one"};
        for (const Json& card : cards_of(row)) numbers.push_back(number_of(card, cards));
        if (header.is_null()) header = std::move(row);
        continue;
      }
      auto strategy = strategy_from_json(
          Json{{"format", "cupilot strategy 1"}, {"techniques", row.at("techniques")}}.dump());
      if (!strategy) return strategy.error();
      row["id"] = strategy_id(*strategy).substr(0, 16);
      const std::size_t card = numbers.at(row.value("card", std::size_t{0}));
      row.erase("card");
      if (card > 0) row["card"] = card;
      if (seen.insert(row["id"]).second) rows += row.dump() + "\n";
    }
  }
  std::ofstream(out) << joined(std::move(header), cards) << "\n" << rows;
  return static_cast<int>(seen.size());
}
