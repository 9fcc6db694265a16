// The state of a search as bytes and back: framed records of JSON and tables. What can be derived
// is left out.
#include <algorithm>

#include "base/pieces.hpp"
#include "base/record_file.hpp"
#include "evolution/journal/record_parts.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

enum Part : std::uint32_t { state_part, policy_part, tried_part, owners_part, slot_part };

parts::Json put_saved(const Score& score) {
  parts::Json json = {{"accepted", score.accepted},   {"evaluated", score.evaluated},
                      {"hash", score.kernel_hash},    {"time_us", score.time_us},
                      {"rejection", score.rejection}, {"repairable", score.repairable}};
  if (score.accepted) json["verdict"] = parts::put(score.verdict);
  if (score.realised) json["realised"] = parts::put(*score.realised);
  return json;
}

Score score_of(const parts::Json& json) {
  Score score{json.at("accepted").get<bool>(),
              json.at("evaluated").get<bool>(),
              json.at("hash").get<std::string>(),
              json.at("time_us").get<double>(),
              {},
              json.at("rejection").get<std::string>(),
              json.at("repairable").get<bool>(),
              {}};
  if (json.contains("verdict")) score.verdict = parts::verdict_of(json.at("verdict"));
  if (json.contains("realised")) score.realised = parts::strategy_of(json.at("realised"));
  return score;
}

parts::Json put_saved(const SearchSlot& slot) {
  return {{"proposal", parts::put(slot.proposal)},
          {"strategy_id", slot.strategy_id},
          {"status", static_cast<int>(slot.status)},
          {"score", put_saved(slot.score)}};
}

SearchSlot saved_slot(const parts::Json& json) {
  return {parts::proposal_of(json.at("proposal")), json.at("strategy_id").get<std::string>(),
          static_cast<SearchSlot::Status>(std::clamp(json.at("status").get<int>(), 0, 2)),
          score_of(json.at("score"))};
}

}  // namespace

std::string Search::saved() const { return state_->saved().joined(); }

Pieces Search::State::saved() const {
  if (!finished.empty()) return {};
  const parts::Json state = {{"max_evaluations", options.max_evaluations},
                             {"max_generations", options.max_generations},
                             {"first", slots.first()},
                             {"forgotten", forgotten},
                             {"first_open", first_open},
                             {"first_right", first_right},
                             {"evaluated", evaluated},
                             {"absorbed", absorbed},
                             {"absorbed_evaluated", absorbed_evaluated},
                             {"best_us", best_us},
                             {"banned", banned},
                             {"best_so_far", best_so_far},
                             {"swift", fastest_times},
                             {"chain", chain}};
  std::uint64_t part = 0;
  Pieces bytes(
      frame(state_part, part++, state.dump(-1, ' ', false, parts::Json::error_handler_t::replace)));
  add_frames(bytes, policy_part, part, Pieces(policy->save()));
  const auto add_table = [&](Part type, const DigestTable& table) {
    add_frames(bytes, type, part, Pieces::looking_at(table.bytes()));
  };
  add_table(tried_part, tried);
  add_table(owners_part, owners);
  const auto add = [&](const SearchSlot& slot) {
    bytes.add(frame(slot_part, part++,
                    put_saved(slot).dump(-1, ' ', false, parts::Json::error_handler_t::replace)));
  };
  for (const auto& [number, slot] : slots.older()) add(slot);
  for (std::int64_t i = slots.first(); i < slots.size(); ++i) add(slots[i]);
  return bytes;
}

bool Search::State::take_saved(std::vector<FramedRecord>& parts) {
  const parts::Json state = parts::Json::parse(parts[0].payload);
  options.max_evaluations = state.at("max_evaluations").get<std::int64_t>();
  options.max_generations = state.at("max_generations").get<int>();
  state.at("forgotten").get_to(forgotten);
  state.at("first_open").get_to(first_open);
  state.at("first_right").get_to(first_right);
  state.at("evaluated").get_to(evaluated);
  state.at("absorbed").get_to(absorbed);
  state.at("absorbed_evaluated").get_to(absorbed_evaluated);
  state.at("best_us").get_to(best_us);
  state.at("banned").get_to(banned);
  state.at("best_so_far").get_to(best_so_far);
  state.at("swift").get_to(fastest_times);
  state.at("chain").get_to(chain);
  std::size_t next = 1;
  const auto of_policy = take_frames(parts, next, policy_part),
             tried_bytes = take_frames(parts, next, tried_part),
             owners_bytes = take_frames(parts, next, owners_part);
  if (!of_policy || !tried_bytes || !owners_bytes || !policy->load(*of_policy)) return false;
  auto all_tried = DigestTable::from_bytes(*tried_bytes, tried.room());
  auto all_owners = DigestTable::from_bytes(*owners_bytes, owners.room());
  if (!all_tried || !all_owners) return false;
  tried = std::move(*all_tried);
  owners = std::move(*all_owners);
  const auto first = state.at("first").get<std::int64_t>();
  std::map<std::int64_t, SearchSlot> older;
  std::vector<SearchSlot> recent;
  for (; next < parts.size(); ++next) {
    SearchSlot slot = saved_slot(parts::Json::parse(parts[next].payload));
    const std::int64_t number = slot.proposal.slot;
    if (number >= first) recent.push_back(std::move(slot));
    if (number < first) older.emplace(number, std::move(slot));
  }
  slots.restore(first, std::move(older));
  for (SearchSlot& slot : recent) {
    if (slot.status == SearchSlot::Status::open) open_ids.push_back(slot.proposal.id);
    slots.append(std::move(slot));
  }
  return true;
}

bool Search::restore(std::string_view saved) {
  ReadRecords read = read_records(saved);
  if (!read.damage.empty() || read.records.empty() || read.records[0].type != state_part)
    return false;
  try {
    return state_->slots.size() == 0 && state_->take_saved(read.records);
  } catch (const parts::Json::exception&) {
    return false;
  }
}

}  // namespace cupilot
