#include "predict/estimate.hpp"

#include <algorithm>
#include <cupilot/rng.hpp>
#include <vector>

#include "kernel/plan_scope.hpp"
#include "kernel/tunable_values.hpp"

namespace cupilot {
namespace {

constexpr int draws =
    600;  // settings, about half of each at plain: what is off breaks no restriction
constexpr int improved = 4;      // the fastest ones
constexpr int most_rounds = 12;  // over all parameters

struct Setting {
  Constants constants;
  double time_us = 0;
};

class Estimator {
 public:
  Estimator(const Tunable& tunable, const Task& task, const DeviceSpec& device)
      : tunable_(tunable), task_(task), device_(device), estimate_(tunable, task, device) {}

  std::vector<Setting> drawn() const {
    std::vector<Setting> settings;
    Rng rng = Rng::of(1, "estimate", 0);
    for (int draw = 0; draw < draws; ++draw) {
      Constants constants;
      for (const TunableParameter& p : tunable_.parameters) {
        const auto at = rng.below(static_cast<std::int64_t>(p.domain.size()));
        constants[p.constant] =
            draw == 0 || rng.chance(0.5) ? p.plain : p.domain[static_cast<std::size_t>(at)];
      }
      consider(settings, constants);
    }
    std::sort(settings.begin(), settings.end(),
              [](const Setting& a, const Setting& b) { return a.time_us < b.time_us; });
    if (settings.size() > improved) settings.resize(improved);
    return settings;
  }

  // One parameter after another takes the value that makes the setting fastest.
  void improve(Setting& setting) const {
    for (int round = 0; round < most_rounds; ++round) {
      const double before = setting.time_us;
      for (const TunableParameter& p : tunable_.parameters) {
        std::vector<Setting> others;
        Constants constants = setting.constants;
        for (const std::int64_t value : p.domain) {
          constants[p.constant] = value;
          consider(others, constants);
        }
        for (const Setting& other : others) {
          if (other.time_us < setting.time_us) setting = other;
        }
      }
      if (setting.time_us >= before) return;
    }
  }

 private:
  void consider(std::vector<Setting>& settings, const Constants& constants) const {
    if (broken_restriction(tunable_, task_, device_, constants) || !serves_shapes(constants))
      return;
    std::vector<std::int64_t> values;
    for (const TunableParameter& p : tunable_.parameters)
      values.push_back(constants.at(p.constant));
    if (const auto time_us = estimate_.at(values)) settings.push_back({constants, *time_us});
  }

  bool serves_shapes(const Constants& constants) const {
    for (const Workload& shape : task_.time_shapes) {
      PlanScope scope(tunable_.plan, constants, task_, shape, device_, nullptr);
      for (const Expr& expr : tunable_.plan.require) {
        const ExprValue value = scope.value(expr);
        if (const auto* number = std::get_if<std::int64_t>(&value);
            number != nullptr && *number == 0)
          return false;
      }
    }
    return true;
  }

  const Tunable& tunable_;
  const Task& task_;
  const DeviceSpec& device_;
  TimeEstimate estimate_;
};

}  // namespace

TimeEstimate::TimeEstimate(const Tunable& tunable, const Task& task, const DeviceSpec& device) {
  for (const Workload& shape : task.time_shapes)
    shapes_.push_back({ModelProgram(tunable, task, shape, device), shape.weight});
}

std::optional<double> TimeEstimate::at(std::span<const std::int64_t> values) const {
  if (shapes_.empty()) return std::nullopt;
  double sum = 0;
  for (const AtShape& shape : shapes_) {
    const auto expected = shape.program.forecast(values);
    if (!expected) return std::nullopt;
    sum += shape.weight * expected->us;
  }
  return sum;
}

std::optional<double> least_time(const Tunable& tunable, const Task& task,
                                 const DeviceSpec& device) {
  if (!tunable.model) return std::nullopt;
  const Estimator estimator(tunable, task, device);
  std::optional<double> least;
  for (Setting& setting : estimator.drawn()) {
    estimator.improve(setting);
    least = std::min(least.value_or(setting.time_us), setting.time_us);
  }
  return least;
}

}  // namespace cupilot
