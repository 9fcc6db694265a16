#include <fmt/format.h>

#include "agents/models/ask.hpp"
#include "agents/models/prompt_parts.hpp"

namespace cupilot {
namespace {

std::string parents_text(const StrategyBrief& brief, double launch_us) {
  const std::vector<Individual>& parents = brief.parents;
  double best_us = 0;
  for (const Individual& parent : parents)
    best_us = best_us == 0 ? parent.time_us : std::min(best_us, parent.time_us);
  std::string text;
  for (std::size_t i = 0; i < parents.size(); ++i)
    text += individual_text(brief, parents[i], i == 0 ? "A" : "B", best_us, launch_us);
  return text;
}

std::string question_text(const StrategyBrief& brief, const DeviceSpec& device, std::size_t count) {
  PromptValues values = {{"known", known_text(brief)}, {"count", std::to_string(count)}};
  if (brief.kind == BreedKind::seed && brief.history.empty())
    return filled_prompt("initial", values);
  values["history"] = history_text(brief);
  if (brief.parents.empty()) {
    values["population"] =
        values["history"].empty() ? population_text(brief.population) : std::string();
    return filled_prompt("explore", values);
  }
  values["parents"] = parents_text(brief, device.launch_seconds * 1e6);
  if (brief.parents.size() < 2) return filled_prompt("improve", values);
  values["children"] = children_text(brief);
  const bool second = brief.parents[1].time_us < brief.parents[0].time_us;
  values["faster"] = second ? "B" : "A";
  values["slower"] = second ? "A" : "B";
  return filled_prompt("cross", values);
}

// The feasible part, the free techniques beside it.
std::optional<Strategy> completed(const Space& space, const Strategy& wish) {
  Strategy known;
  std::vector<Use> free_ones;
  for (const Use& use : wish.uses) (use.text.empty() ? known.uses : free_ones).push_back(use);
  Result<Completion> whole = space.complete(known);
  if (!whole) return std::nullopt;
  Strategy strategy = std::move(whole->strategy);
  strategy.uses.insert(strategy.uses.end(), free_ones.begin(), free_ones.end());
  strategy.rationale = wish.rationale;
  return strategy;
}

}  // namespace

std::string strategist_head(const Task& task, const DeviceSpec& device, const Space& space) {
  return filled_prompt("strategist_head", {{"task", task_text(task)},
                                           {"device", device_text(device, task.precision)},
                                           {"limits", limits_text(task, device)},
                                           {"groups", groups_text(space)},
                                           {"techniques", techniques_text(space)},
                                           {"most_free", std::to_string(most_free_uses)}});
}

std::vector<Answer<std::vector<Strategy>>> ask_strategist(
    ChatClient& client, const std::string& head, const std::vector<StrategyBrief>& briefs,
    const DeviceSpec& device, std::size_t count, const std::string& key) {
  const Space& space = *briefs.front().space;
  std::vector<Question> questions;
  for (const StrategyBrief& brief : briefs) {
    const auto letter = static_cast<char>('a' + questions.size());
    questions.push_back({"strategist", questions.empty() ? key : fmt::format("{} {}", key, letter),
                         head, question_text(brief, device, count), strategy_schema(space, count)});
  }
  auto answers = ask_all<std::vector<Strategy>>(client, questions, [&](const ChatReply& reply) {
    return read_strategy_reply(reply, space, count);
  });
  for (auto& answer : answers) {
    if (!answer || std::holds_alternative<Unreadable>(*answer)) continue;
    std::vector<Strategy> feasible;
    for (const Strategy& wish : std::get<std::vector<Strategy>>(*answer)) {
      if (auto strategy = completed(space, wish)) feasible.push_back(std::move(*strategy));
    }
    *answer = std::move(feasible);
  }
  return answers;
}

}  // namespace cupilot
