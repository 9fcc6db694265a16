#include <cupilot/evolve.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace cupilot {

StopRule stagnation(int generations, double gain) {
  return [generations, gain](std::span<const Progress> all) -> std::string {
    const auto window = static_cast<std::size_t>(std::max(1, generations));
    if (all.size() <= window) return "";
    const double now = all.back().best_us, before = all[all.size() - 1 - window].best_us;
    if (before <= 0 || now < (1 - gain) * before) return "";
    return fmt::format("no gain above {:g} % in {} generations", 100 * gain, window);
  };
}

StopRule any_of(std::vector<StopRule> rules) {
  std::erase(rules, nullptr);
  return [rules = std::move(rules)](std::span<const Progress> all) -> std::string {
    for (const StopRule& rule : rules) {
      if (std::string reason = rule(all); !reason.empty()) return reason;
    }
    return "";
  };
}

StopRule all_of(std::vector<StopRule> rules) {
  std::erase(rules, nullptr);
  return [rules = std::move(rules)](std::span<const Progress> all) -> std::string {
    std::string reasons;
    for (const StopRule& rule : rules) {
      const std::string reason = rule(all);
      if (reason.empty()) return "";
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    return reasons;
  };
}

}  // namespace cupilot
