#include "llm/model_choice.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace cupilot {
namespace {

constexpr std::int64_t asked_at_least = 2;  // questions of each model before gains decide
constexpr int patience = 6;                 // candidates without gain before the next rung
constexpr double least_gain = 0.05;         // log2, scale of what an unknown model may bring
constexpr double least_cost = 0.01;         // of the dearest model's: what a free one counts as

// The slot of "slot 17/write/0"; -1: a question before the first slot.
std::int64_t slot_of(const std::string& key) {
  constexpr std::string_view begin = "slot ";
  std::int64_t slot = -1;
  if (key.starts_with(begin))
    std::from_chars(key.data() + begin.size(), key.data() + key.size(), slot);
  return slot;
}

}  // namespace

std::optional<RoleModels> role_models(const std::string& role) {
  constexpr std::string_view marks = ",>|";
  constexpr RoleRule rules[] = {RoleRule::first, RoleRule::ladder, RoleRule::gain};
  RoleModels models;
  const std::size_t mark = role.find_first_of(marks);
  if (mark != std::string::npos) models.rule = rules[marks.find(role[mark])];
  for (std::size_t begin = 0; begin <= role.size();) {
    const std::size_t end = std::min(role.find_first_of(marks, begin), role.size());
    if (end < role.size() && role[end] != role[mark]) return std::nullopt;
    std::size_t first = begin, last = end;
    while (first < last && role[first] == ' ') ++first;
    while (last > first && role[last - 1] == ' ') --last;
    models.names.push_back(role.substr(first, last - first));
    begin = end + 1;
  }
  return models;
}

ModelChoice::ModelChoice(RoleModels models) : rule_(models.rule) {
  for (std::string& name : models.names) arms_.push_back({.name = std::move(name)});
}

ModelChoice::Arm* ModelChoice::arm_of(const std::string& name) {
  const auto found =
      std::find_if(arms_.begin(), arms_.end(), [&](const Arm& arm) { return arm.name == name; });
  return found == arms_.end() ? nullptr : &*found;
}

// Bounds each model's gain per cost from above (UCB1, Auer et al. 2002, with money in place of
// pulls: a cheap model is tried oftener for the same money).
std::vector<double> ModelChoice::worth() const {
  const bool priced =
      std::any_of(arms_.begin(), arms_.end(), [](const Arm& arm) { return arm.cost > 0; });
  const auto spent = [&](const Arm& arm) { return priced ? arm.cost : arm.tokens; };
  double unit = 0;  // mean cost of a question to the dearest model
  for (const Arm& arm : arms_)
    if (arm.answered > 0) unit = std::max(unit, spent(arm) / static_cast<double>(arm.answered));
  if (unit <= 0) unit = 1;
  // In units. A question that is still open counts by those before it.
  const auto units = [&](const Arm& arm) {
    const double mean =
        arm.answered > 0 ? spent(arm) / static_cast<double>(arm.answered) / unit : 1;
    return static_cast<double>(arm.asked - arm.failed) * std::max(mean, least_cost) +
           static_cast<double>(arm.failed);
  };
  double all = 0;
  for (const Arm& arm : arms_) all += units(arm);
  const double scale = std::max(most_gain_, least_gain);
  std::vector<double> worth;
  for (const Arm& arm : arms_) {
    const double own = std::max(units(arm), least_cost);
    worth.push_back(arm.asked < asked_at_least
                        ? 1e300 - static_cast<double>(arm.asked) * 1e299
                        : arm.gain / own + scale * std::sqrt(2 * std::log1p(all) / own));
  }
  return worth;
}

std::vector<std::string> ModelChoice::choose(const ChatRequest& request) {
  const std::lock_guard hold(mutex_);
  const bool again = request.key.ends_with("/1");
  std::vector<std::size_t> order(arms_.size());
  std::iota(order.begin(), order.end(), 0);
  if (rule_ == RoleRule::gain) {
    const std::vector<double> worth = this->worth();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
  } else {
    const std::size_t first = std::min(rung_ + (again ? 1 : 0), arms_.size() - 1);
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
  }
  ++arms_[order.front()].asked;
  std::vector<std::string> names;
  for (const std::size_t at : order) names.push_back(arms_[at].name);
  // Only a role that says so goes on to another model when one does not answer.
  if (rule_ == RoleRule::first) names.resize(1);
  return names;
}

void ModelChoice::answered(const std::string& agent, const std::string& key,
                           const std::string& model, const ChatUsage* usage) {
  const std::lock_guard hold(mutex_);
  Arm* arm = arm_of(model);
  if (arm == nullptr) return;
  arm->asked = std::max(arm->asked, arm->answered + arm->failed + 1);
  ++arm->answered;
  asked_[slot_of(key)].insert(model);
  if (agent == "strategist") planned_[slot_of(key)].insert(model);
  if (usage == nullptr) {
    --arm->answered;
    ++arm->failed;
    return;
  }
  arm->cost += usage->cost;
  arm->tokens += static_cast<double>(usage->input_tokens + usage->output_tokens);
}

// Returns the models that were asked in the candidate's slot, and that of the strategist whose
// answers it came from.
std::set<std::string> ModelChoice::askers_of(const ChatOutcome& outcome) const {
  const std::int64_t slot = slot_of(outcome.key);
  std::set<std::string> names;
  if (const auto found = asked_.find(slot); found != asked_.end() && slot >= 0)
    names = found->second;
  const auto after = planned_.upper_bound(slot);
  if (outcome.proposed && after != planned_.begin())
    names.insert(std::prev(after)->second.begin(), std::prev(after)->second.end());
  return names;
}

void ModelChoice::told(const ChatOutcome& outcome) {
  const std::lock_guard hold(mutex_);
  const std::set<std::string> names = askers_of(outcome);
  if (names.empty()) return;
  const double gain = std::isfinite(outcome.log2_gain) ? std::max(0.0, outcome.log2_gain) : 0;
  most_gain_ = std::max(most_gain_, gain);
  for (const std::string& name : names) arm_of(name)->gain += gain;
  without_gain_ = gain > 0 ? 0 : without_gain_ + 1;
  if (gain > 0) rung_ = 0;
  if (rule_ != RoleRule::ladder || without_gain_ < patience) return;
  without_gain_ = 0;
  rung_ = std::min(rung_ + 1, arms_.size() - 1);
}

}  // namespace cupilot
