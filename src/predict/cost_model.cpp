#include <cupilot/parts/agents.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kernel/template_choice.hpp"
#include "kernel/tunable_values.hpp"
#include "predict/model.hpp"
#include "predict/residual.hpp"

namespace cupilot {
namespace {

// log2 of how far the analytic model alone is off, as a standard deviation: over 8 048 strategies
// of five GEMMs on an H200 (bench/landscapes/h200).
constexpr double analytic_sigma = 0.4;

struct Known {
  Task task;
  DeviceSpec device;
  std::vector<Tunable> tunables;
  std::map<std::string, Residual> residuals;          // by template
  std::vector<const Tunable*> serving{};              // those that serve the task
  std::map<const Tunable*, ModelProgram> programs{};  // models of those that have one

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
  using Programs = std::map<std::pair<const Tunable*, const Task*>, ModelProgram>;

  std::optional<Realised> realised(const Strategy& strategy) const {
    return realised(task, strategy, choose_serving(serving, task, strategy),
                    [&](const Tunable* tunable) {
                      const auto program = programs.find(tunable);
                      return program == programs.end() ? nullptr : &program->second;
                    });
  }
  std::optional<Realised> realised(const Task& at, const Strategy& strategy,
                                   Programs& elsewhere) const {
    if (at.time_shapes.empty()) return std::nullopt;
    return realised(
        at, strategy, choose_template(tunables, at, strategy),
        [&](const Tunable* tunable) -> const ModelProgram* {
          if (!tunable->model) return nullptr;
          const auto key = std::pair(tunable, &at);
          const auto known = elsewhere.find(key);
          if (known != elsewhere.end()) return &known->second;
          return &elsewhere.emplace(key, ModelProgram(*tunable, at, at.time_shapes.front(), device))
                      .first->second;
        });
  }
  template <class Choice, class Program>
  static std::optional<Realised> realised(const Task& at, const Strategy& strategy,
                                          const Choice& choice, const Program& program_of) {
    const auto* tunable = std::get_if<const Tunable*>(&choice);
    if (tunable == nullptr) return std::nullopt;
    auto constants = constants_for(**tunable, at, strategy);
    if (!constants) return std::nullopt;
    const ModelProgram* program = program_of(*tunable);
    if (program == nullptr) return std::nullopt;
    auto terms = program->forecast(values_of(**tunable, *constants));
    if (!terms) return std::nullopt;
    return Realised{*tunable, std::move(*constants), std::move(*terms)};
  }

  void learn(std::span<const KnownTime> outcomes) {
    std::map<std::string, std::vector<ResidualPoint>> points;
    Programs elsewhere;
    for (const KnownTime& outcome : outcomes) {
      if (outcome.strategy == nullptr || !(outcome.time_us > 0)) continue;
      const bool own = outcome.task == nullptr || outcome.task == &task;
      auto found =
          own ? realised(*outcome.strategy) : realised(*outcome.task, *outcome.strategy, elsewhere);
      if (!found) continue;
      const double error = std::log2(outcome.time_us / found->terms.us);
      points[found->tunable->name].push_back({found->placed(), error});
    }
    for (auto& [name, of_template] : points)
      residuals.emplace(name, Residual(std::move(of_template)));
  }

  std::optional<Prediction> forecast(const Strategy& strategy) const {
    auto found = realised(strategy);
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
  if (task.time_shapes.empty()) return {};
  const auto known = std::make_shared<Known>(Known{task, device, tunables, {}, {}, {}});
  known->serving = serving_among(known->tunables, known->task);
  for (const Tunable* tunable : known->serving) {
    if (tunable->model)
      known->programs.emplace(
          tunable, ModelProgram(*tunable, known->task, known->task.time_shapes.front(), device));
  }
  if (known->programs.empty()) return {};
  known->learn(learnt);
  return [known = std::shared_ptr<const Known>(known)](const Strategy& strategy) {
    return known->forecast(strategy);
  };
}

}  // namespace cupilot
