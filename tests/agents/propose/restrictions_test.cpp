// What is remembered and what is compiled of restrictions says what the plain reading of them says,
// for every template.
#include <algorithm>

#include <cupilot/rng.hpp>

#include "agents/propose/tunable_skeleton.hpp"
#include "agents/toy_tunable.hpp"
#include "kernel/plan_program.hpp"
#include "kernel/plan_scope.hpp"
#include "strategy/skeleton_plan.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

std::vector<Task> tasks() {
  std::vector<Task> all;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"m=4096", "n=4096", "k=4096", "dtype=bf16"},
        {"m=100", "n=2048", "k=512", "layout=nt"},
        {"m=4096", "n=4096", "k=4096", "dtype=e4m3"},
        {"m=4096", "n=4096", "k=4096", "dtype=e4m3", "scale=block", "layout=nt"},
        {"m=16", "n=4096", "k=4096", "dtype=fp16"},
        {"m=2048", "n=2048", "k=2048", "precision=bf16x3"}}) {
    auto task = gemm_of(words);
    REQUIRE(task);
    all.push_back(std::move(*task));
  }
  return all;
}

Choice drawn(const SkeletonPlan& plan, Rng& rng) {
  Choice choice = bare_choice(plan);
  for (std::size_t t = 0; t < choice.present.size(); ++t) {
    if (plan.available[t] && !plan.required[t]) choice.present[t] = rng.chance(0.5) ? 1 : 0;
  }
  for (std::size_t k = 0; k < plan.slots.size(); ++k) {
    if (!choice.present[static_cast<std::size_t>(plan.slots[k].technique)]) continue;
    choice.at[k] = static_cast<std::int16_t>(
        rng.below(static_cast<std::int64_t>(plan.slots[k].knob.domain.size())));
  }
  return choice;
}

// Draws choices of one template's skeleton and asks each restriction twice, with and without its
// memory.
void expect_same_answers(const Tunable& tunable, const Task& task, const DeviceSpec& device) {
  SpaceModel model;
  model.techniques.assign(catalogue().begin(), catalogue().end());
  for (Technique& row : own_techniques(tunable, model.techniques))
    model.techniques.push_back(std::move(row));
  auto graph = ConstraintGraph::build(model.techniques);
  REQUIRE(graph);
  auto plan = plan_skeleton(model, *graph,
                            tunable_skeleton(tunable, TaskRef(task), device, model.techniques));
  REQUIRE(plan);
  Rng rng = Rng::of(7, "restrictions");
  std::int64_t differ = 0;
  for (int draw = 0; draw < 300; ++draw) {
    const Choice choice = drawn(*plan, rng);
    for (std::size_t r = 0; r < plan->restrictions.size(); ++r) {
      for (int time = 0; time < 2; ++time)
        differ += holds(*plan, r, choice) != holds_when_asked(*plan, r, choice) ? 1 : 0;
    }
  }
  INFO(tunable.name << " for " << task.name);
  CHECK(differ == 0);
}

bool same(const PlanProgram::Answer& answer, const ExprValue& value) {
  using Is = PlanProgram::Answer::Is;
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return answer.is == Is::number && answer.number == *number;
  const bool not_yet = std::get<ExprFault>(value).kind == ExprFault::Kind::not_yet;
  return answer.is == (not_yet ? Is::not_yet : Is::fault);
}

std::vector<Expr> expressions_of(const LaunchPlan& plan) {
  std::vector<Expr> all = plan.require;
  for (const auto& [name, expr] : plan.let) all.push_back(expr);
  for (const PlanLaunch& launch : plan.launches) {
    all.insert(all.end(), launch.grid.begin(), launch.grid.end());
    all.push_back(launch.shared);
    all.emplace_back(launch.name + ".ctas * 2 + dev.sms");
    all.emplace_back("resident." + launch.name + " > 1 ? 1 : 2");
  }
  for (const char* odd : {"no_such_name + 1", "1 / (m - m)", "m % 3 == 1 || m / 0", "cdiv(",
                          "up(m, 128) - pow2(n) * log2(k)"})
    all.emplace_back(odd);
  return all;
}

void expect_same_values(const Tunable& tunable, const Task& task, const DeviceSpec& device) {
  const Workload& shape = task.time_shapes.front();
  PlanProgram program(tunable.plan, constant_names(tunable), task, shape, device);
  const std::vector<Expr> expressions = expressions_of(tunable.plan);
  std::vector<int> compiled;
  for (const Expr& expr : expressions) compiled.push_back(program.add(expr));
  Rng rng = Rng::of(8, "plans");
  for (int draw = 0; draw < 100; ++draw) {
    Constants constants;
    std::vector<std::int64_t> values;
    for (const TunableParameter& p : tunable.parameters) {
      values.push_back(p.domain[static_cast<std::size_t>(
          rng.below(static_cast<std::int64_t>(p.domain.size())))]);
      constants[p.constant] = values.back();
    }
    PlanScope scope(tunable.plan, constants, task, shape, device, nullptr);
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const bool agree = same(program.value(compiled[i], values), scope.value(expressions[i]));
      INFO(tunable.name << ": " << expressions[i].text);
      REQUIRE(agree);
    }
  }
}

}  // namespace

TEST_CASE("remembered restrictions are the plain ones, of every template") {
  const DeviceSpec device = *chip("h200");
  for (const Task& task : tasks()) {
    for (const Tunable& tunable : builtin_tunables()) {
      if (serves(tunable, task)) expect_same_answers(tunable, task, device);
    }
  }
}

TEST_CASE("compiled expressions of a plan have the values of the plan's own scope") {
  const DeviceSpec device = *chip("h200");
  const Task task = tasks().front();
  for (const Tunable& tunable : builtin_tunables()) expect_same_values(tunable, task, device);
  Tunable circular = builtin_tunables().front();
  circular.plan.let = {
      {"a", Expr("b + 1")}, {"b", Expr("m > 4096 ? 1 : a")}, {"c", Expr("m > 0 ? 3 : a")}};
  circular.plan.require.clear();
  expect_same_values(circular, task, device);
}
