#include <cupilot/parts/prediction.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "kernel/template_choice.hpp"
#include "kernel/tunable_values.hpp"
#include "predict/residual.hpp"
#include "predict/terms.hpp"

namespace cupilot {
namespace {

// log2 of how far the analytic model alone is off, as a standard deviation: over 8 048 strategies
// of five GEMMs on an H200 (bench/landscapes/h200).
constexpr double analytic_sigma = 0.4;

struct Known {
  Task task;
  DeviceSpec device;
  std::vector<Tunable> tunables;
  std::map<std::string, ForecastResidual> residuals;  // by template
  std::vector<const Tunable*> serving;                // of them those that serve the task

  struct Realised {
    const Tunable* tunable = nullptr;
    Constants constants;
    ForecastTerms terms;

    // With what errors are told apart by.
    const ForecastTerms& placed() {
      terms.knobs = knob_places(*tunable, constants);
      return terms;
    }
  };
  std::optional<Realised> realised(const Task& at, const Strategy& strategy) const {
    const auto choice = &at == &task ? choose_serving(serving, at, strategy)
                                     : choose_template(tunables, at, strategy);
    const auto* tunable = std::get_if<const Tunable*>(&choice);
    if (tunable == nullptr) return std::nullopt;
    auto constants = constants_for(**tunable, at, strategy);
    if (!constants) return std::nullopt;
    auto terms = forecast_terms(**tunable, *constants, at, device);
    if (!terms) return std::nullopt;
    return Realised{*tunable, std::move(*constants), std::move(*terms)};
  }

  void learn(std::span<const KnownTime> outcomes) {
    std::map<std::string, std::vector<ResidualPoint>> points;
    for (const KnownTime& outcome : outcomes) {
      if (outcome.strategy == nullptr || !(outcome.time_us > 0)) continue;
      auto found = realised(outcome.task != nullptr ? *outcome.task : task, *outcome.strategy);
      if (!found) continue;
      const double error = std::log2(outcome.time_us / found->terms.us);
      points[found->tunable->name].push_back({found->placed(), error});
    }
    for (auto& [name, of_template] : points)
      residuals.emplace(name, ForecastResidual(std::move(of_template)));
  }

  std::optional<Prediction> forecast(const Strategy& strategy) const {
    auto found = realised(task, strategy);
    if (!found) return std::nullopt;
    Prediction expected{std::log2(found->terms.us), analytic_sigma};
    const auto residual = residuals.find(found->tunable->name);
    if (residual == residuals.end()) return expected;
    const ResidualGuess guess = residual->second.guess(found->placed());
    expected.log2_us += guess.mean;
    expected.sigma = guess.sigma;
    return expected;
  }
};

}  // namespace

CostModel make_cost_model(const Task& task, const DeviceSpec& device,
                          const std::vector<Tunable>& tunables, std::span<const KnownTime> learnt) {
  if (task.family != "gemm" || task.time_shapes.empty()) return {};
  const auto known = std::make_shared<Known>(Known{task, device, tunables, {}, {}});
  known->serving = serving_among(known->tunables, task);
  known->learn(learnt);
  return [known = std::shared_ptr<const Known>(known)](const Strategy& strategy) {
    return known->forecast(strategy);
  };
}

}  // namespace cupilot
