// The state of the evolution policy as JSON and back. The surrogate is derived from the slots.
#include "evolution/journal/record_parts.hpp"
#include "evolution/search/evolution_policy.hpp"

namespace cupilot {
namespace {

parts::Json put_saved(std::int64_t number, const BredSlot& slot) {
  return {{"slot", number},
          {"strategy", parts::put(slot.strategy)},
          {"strategy_id", slot.strategy_id},
          {"accepted", slot.accepted},
          {"fitness", slot.fitness},
          {"prior", slot.prior},
          {"repairs", slot.repairs}};
}

BredSlot bred_slot(const parts::Json& json) {
  return {parts::strategy_of(json.at("strategy")), json.at("strategy_id").get<std::string>(),
          json.at("accepted").get<bool>(),         json.at("fitness").get<double>(),
          json.at("prior").get<double>(),          json.at("repairs").get<int>()};
}

parts::Json put_saved(const SlotStore<BredSlot>& slots) {
  parts::Json all = parts::Json::array();
  for (const auto& [number, slot] : slots.older()) all.push_back(put_saved(number, slot));
  for (std::int64_t i = slots.first(); i < slots.size(); ++i) all.push_back(put_saved(i, slots[i]));
  return all;
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

parts::Json put_history(const std::deque<StrategyBrief::Tried>& history) {
  parts::Json all = parts::Json::array();
  for (const StrategyBrief::Tried& one : history) {
    all.push_back({{"id", one.id},
                   {"strategy", parts::put(one.strategy)},
                   {"time_us", one.time_us},
                   {"code", one.code}});
  }
  return all;
}

}  // namespace

std::string EvolutionPolicy::save() const {
  const parts::Json state = {{"first", slots_.first()},
                             {"slots", put_saved(slots_)},
                             {"observed", observed_},
                             {"population", put_saved(population_)},
                             {"effects", effects_.sums()},
                             {"repairable", repairable_},
                             {"ancestors", put_ancestors(ancestors_)},
                             {"failures", put_failures(failures_)},
                             {"history", put_history(history_)},
                             {"best_ranked", best_ranked_},
                             {"ranked", ranked_},
                             {"usual_prior", usual_prior_},
                             {"unavailable_since", strategist_.unavailable_since()},
                             {"strategist", strategist_.saved()}};
  return state.dump(-1, ' ', false, parts::Json::error_handler_t::replace);
}

bool EvolutionPolicy::load(std::string_view saved) {
  try {
    const parts::Json state = parts::Json::parse(saved);
    const auto first = state.at("first").get<std::int64_t>();
    std::map<std::int64_t, BredSlot> older;
    std::vector<BredSlot> recent;
    for (const parts::Json& one : state.at("slots")) {
      const auto number = one.at("slot").get<std::int64_t>();
      if (number >= first) recent.push_back(bred_slot(one));
      if (number < first) older.emplace(number, bred_slot(one));
    }
    slots_.restore(first, std::move(older));
    for (BredSlot& slot : recent) slots_.append(std::move(slot));
    state.at("observed").get_to(observed_);
    population_.restore(members_of(state.at("population")));
    effects_.restore(state.at("effects").get<EffectBook::Sums>());
    state.at("repairable").get_to(repairable_);
    for (const auto& [id, one] : state.at("ancestors").items())
      ancestors_[id] = {parts::strategy_of(one.at("strategy")), one.at("time_us").get<double>()};
    for (const parts::Json& one : state.at("failures")) {
      failures_.push_back(
          {parts::strategy_of(one.at("strategy")), one.at("code").get<std::string>()});
    }
    for (const parts::Json& one : state.at("history")) {
      history_.push_back({one.at("id").get<std::uint64_t>(), parts::strategy_of(one.at("strategy")),
                          one.at("time_us").get<double>(), one.at("code").get<std::string>()});
    }
    state.at("best_ranked").get_to(best_ranked_);
    state.at("ranked").get_to(ranked_);
    state.at("usual_prior").get_to(usual_prior_);
    if (const int since = state.at("unavailable_since").get<int>(); since >= 0)
      strategist_.set_unavailable_since(since);
    if (const auto kept = state.at("strategist").get<std::string>(); !kept.empty())
      strategist_.restore(kept);
  } catch (const parts::Json::exception&) {
    return false;
  }
  return observed_ <= slots_.size();
}

}  // namespace cupilot
