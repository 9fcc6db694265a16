#include "kernel/template_choice.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kernel/tunable_values.hpp"

namespace cupilot {
namespace {

bool holds(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool uses(const Strategy& strategy, const std::string& technique) {
  return std::any_of(strategy.uses.begin(), strategy.uses.end(),
                     [&](const Use& use) { return use.technique == technique; });
}

bool realises(const Tunable& tunable, const std::string& technique) {
  if (technique == tunable.name || holds(tunable.provides, technique) ||
      holds(tunable.requires_techniques, technique))
    return true;
  return std::any_of(
      tunable.parameters.begin(), tunable.parameters.end(),
      [&](const TunableParameter& parameter) { return parameter.technique == technique; });
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " and ") + word;
  return all;
}

}  // namespace

std::vector<const Tunable*> serving_among(const std::vector<Tunable>& tunables, const Task& task) {
  std::vector<const Tunable*> serving;
  for (const Tunable& tunable : tunables) {
    if (serves(tunable, task)) serving.push_back(&tunable);
  }
  return serving;
}

std::variant<const Tunable*, std::string> choose_template(const std::vector<Tunable>& tunables,
                                                          const Task& task,
                                                          const Strategy& strategy) {
  return choose_serving(serving_among(tunables, task), task, strategy);
}

std::variant<const Tunable*, std::string> choose_serving(const std::vector<const Tunable*>& serving,
                                                         const Task& task,
                                                         const Strategy& strategy) {
  const Tunable* best = nullptr;
  std::string missing;
  for (const Tunable* tunable : serving) {
    const auto& needs = tunable->requires_techniques;
    if (!std::all_of(needs.begin(), needs.end(),
                     [&](const std::string& technique) { return uses(strategy, technique); }))
      continue;
    const auto first =
        std::find_if(strategy.uses.begin(), strategy.uses.end(),
                     [&](const Use& use) { return !realises(*tunable, use.technique); });
    if (first != strategy.uses.end()) {
      if (missing.empty())
        missing = fmt::format("template {} does not realise {}", tunable->name, first->technique);
    } else if (!best || needs.size() > best->requires_techniques.size()) {
      best = tunable;
    }
  }
  if (best) return best;
  if (serving.empty())
    return fmt::format("no template serves task {} of family '{}' at precision {}", task.name,
                       task.family, name_of(task.precision));
  if (!missing.empty()) return missing;
  std::string skeletons;
  for (const Tunable* tunable : serving) {
    const auto& needs = tunable->requires_techniques;
    skeletons += fmt::format("{}{} ({})", skeletons.empty() ? "" : ", ", tunable->name,
                             needs.empty() ? "none" : joined(needs));
  }
  return fmt::format("the strategy lacks the techniques that a template stands on: {}", skeletons);
}

}  // namespace cupilot
