// The state of a search as bytes and back: framed records of JSON and tables. What can be derived
// is left out.
#include <algorithm>

#include "base/pieces.hpp"
#include "base/record_file.hpp"
#include "evolution/journal/record_parts.hpp"
#include "evolution/search/state.hpp"

namespace cupilot {
namespace {

enum Part : std::uint32_t { state_part, tried_part, owners_part, slot_part };

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
          {"score", put_saved(slot.score)},
          {"fitness", slot.fitness},
          {"prior", slot.prior},
          {"repairs", slot.repairs}};
}

SearchSlot saved_slot(const parts::Json& json) {
  return {parts::proposal_of(json.at("proposal")),
          json.at("strategy_id").get<std::string>(),
          static_cast<SearchSlot::Status>(std::clamp(json.at("status").get<int>(), 0, 2)),
          score_of(json.at("score")),
          json.at("fitness").get<double>(),
          json.at("prior").get<double>(),
          json.at("repairs").get<int>()};
}

parts::Json put_saved(const Population& population) {
  parts::Json members = parts::Json::array();
  for (const Member& member : population.members()) {
    const Individual& one = member.individual;
    members.push_back({{"id", one.id},
                       {"strategy", parts::put(one.strategy)},
                       {"time_us", one.time_us},
                       {"fitness", one.fitness},
                       {"verdict", parts::put(one.verdict)},
                       {"strategy_id", member.strategy_id}});
  }
  return members;
}

std::vector<Member> members_of(const parts::Json& json) {
  std::vector<Member> members;
  for (const parts::Json& one : json) {
    members.push_back({{one.at("id").get<std::uint64_t>(), parts::strategy_of(one.at("strategy")),
                        one.at("time_us").get<double>(), one.at("fitness").get<double>(),
                        parts::verdict_of(one.at("verdict"))},
                       one.at("strategy_id").get<std::string>()});
  }
  return members;
}

parts::Json put_ancestors(const std::unordered_map<std::string, Ancestor>& ancestors) {
  parts::Json all = parts::Json::object();
  for (const auto& [id, one] : ancestors)
    all[id] = {{"strategy", parts::put(one.strategy)}, {"time_us", one.time_us}};
  return all;
}

parts::Json put_failures(const std::deque<StrategyBrief::Failure>& failures) {
  parts::Json all = parts::Json::array();
  for (const StrategyBrief::Failure& one : failures)
    all.push_back({{"strategy", parts::put(one.strategy)}, {"code", one.code}});
  return all;
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
                             {"evaluated", evaluated},
                             {"absorbed", absorbed},
                             {"absorbed_evaluated", absorbed_evaluated},
                             {"population", put_saved(population)},
                             {"effects", effects.sums()},
                             {"repairable", repairable},
                             {"best_us", best_us},
                             {"banned", banned},
                             {"ancestors", put_ancestors(ancestors)},
                             {"failures", put_failures(failures)},
                             {"best_so_far", best_so_far},
                             {"best_ranked", best_ranked},
                             {"ranked", ranked},
                             {"swift", fastest_times},
                             {"chain", chain},
                             {"usual_prior", usual_prior}};
  std::uint64_t part = 0;
  Pieces bytes(
      frame(state_part, part++, state.dump(-1, ' ', false, parts::Json::error_handler_t::replace)));
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
  state.at("evaluated").get_to(evaluated);
  state.at("absorbed").get_to(absorbed);
  state.at("absorbed_evaluated").get_to(absorbed_evaluated);
  population.restore(members_of(state.at("population")));
  effects.restore(state.at("effects").get<EffectBook::Sums>());
  state.at("repairable").get_to(repairable);
  state.at("best_us").get_to(best_us);
  state.at("banned").get_to(banned);
  for (const auto& [id, one] : state.at("ancestors").items()) {
    ancestors[id] = {parts::strategy_of(one.at("strategy")), one.at("time_us").get<double>()};
  }
  for (const parts::Json& one : state.at("failures")) {
    failures.push_back({parts::strategy_of(one.at("strategy")), one.at("code").get<std::string>()});
  }
  state.at("best_so_far").get_to(best_so_far);
  state.at("best_ranked").get_to(best_ranked);
  state.at("ranked").get_to(ranked);
  state.at("swift").get_to(fastest_times);
  state.at("chain").get_to(chain);
  state.at("usual_prior").get_to(usual_prior);
  std::size_t next = 1;
  const auto tried_bytes = take_frames(parts, next, tried_part),
             owners_bytes = take_frames(parts, next, owners_part);
  if (!tried_bytes || !owners_bytes) return false;
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
  const SearchSlot* last = slots.find(slots.size() - 1);
  if (last != nullptr && last->proposal.silent)
    strategist.set_unavailable_since(last->proposal.generation);
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
