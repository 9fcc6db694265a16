// Chooses among the models of a role (docs/formats/models.md).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cupilot/chat.hpp>

namespace cupilot {

// Says how a role with several models takes turns.
enum class RoleRule { first, ladder, gain };

struct RoleModels {
  RoleRule rule = RoleRule::first;
  std::vector<std::string> names{};  // in the order of the text
};

// Reads "a, b" (first), "a > b" (ladder) or "a | b" (gain). nullopt: the text mixes them.
std::optional<RoleModels> role_models(const std::string& role);

class ModelChoice {
 public:
  explicit ModelChoice(RoleModels models);

  // The models for this question, the one to ask first in front; it counts as asked.
  std::vector<std::string> choose(const ChatRequest& request);
  // True if which model answers depends on what was answered and told.
  bool takes_turns() const { return rule_ != RoleRule::first; }
  // Notes the answer of `model` to the question of an agent. Null usage: it gave none.
  void answered(const std::string& agent, const std::string& key, const std::string& model,
                const ChatUsage* usage);
  void told(const ChatOutcome& outcome);

 private:
  struct Arm {
    std::string name;
    std::int64_t asked = 0, answered = 0, failed = 0;  // failed: counts as the dearest question
    double gain = 0, cost = 0, tokens = 0;
  };
  Arm* arm_of(const std::string& name);
  std::vector<double> worth() const;
  std::set<std::string> askers_of(const ChatOutcome& outcome) const;

  mutable std::mutex mutex_;
  RoleRule rule_;
  std::vector<Arm> arms_;
  double most_gain_ = 0;
  std::size_t rung_ = 0;                                   // of the ladder
  int without_gain_ = 0;                                   // candidates since the last gain or step
  std::map<std::int64_t, std::set<std::string>> asked_;    // by slot
  std::map<std::int64_t, std::set<std::string>> planned_;  // by slot: the strategist's
};

}  // namespace cupilot
