#include "kernel/plan_requirements.hpp"

#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/tunable.hpp>
#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"

using namespace cupilot;

namespace {

bool resolves(const KernelSource& source, const Task& task, const Workload& workload,
              const DeviceSpec& device) {
  const auto resolution = resolve(source, task, workload, device, nullptr);
  return !resolution || std::holds_alternative<ResolvedPlan>(*resolution);
}

Workload shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.sizes = {{"m", m}, {"n", n}, {"k", k}, {"batch", 1}}};
}

Task gemm_512() { return *gemm_task({.m = 512, .n = 512, .k = 512}); }

}  // namespace

TEST_CASE("requirements hold where a plan resolves, or is refused", "[kernel]") {
  struct Row {
    const char* what;
    std::vector<std::pair<std::string, Expr>> let;
    std::vector<Expr> require;
    bool at_60, at_64;  // of k
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"nothing is required", {}, {}, true, true},
      {"a multiple", {}, {"k%8==0"}, false, true},
      {"of a constant", {}, {"k%BK==0"}, false, true},
      {"through definitions",
       {{"rest", "k%BK"}, {"whole", "rest==0"}},
       {"m>0", "whole"},
       false,
       true},
      {"of the device", {}, {"k*dev.sms>=64*dev.sms"}, false, true},
      {"of the task", {}, {"k*elem.A>=256"}, false, true},
      {"of the launch", {}, {"main.ctas<61"}, true, false},
      {"what only compiling tells is refused there", {}, {"resident.main>0", "0"}, true, true},
      {"an unknown name is refused", {}, {"q%8==0"}, true, true},
      {"no expression", {}, {"k%%8"}, true, true},
      {"a division by zero is refused", {}, {"k/(m-m)>0", "0"}, true, true},
      {"the first that fails tells", {}, {"k==64", "q"}, false, true},
      {"a definition that hides a constant is refused", {{"BK", "8"}}, {"k==64"}, true, true},
      {"a definition that hides a size is refused", {{"m", "8"}}, {"k==64"}, true, true},
      {"a definition that needs itself", {{"a", "b+1"}, {"b", "a"}}, {"a>0"}, true, true},
  }));
  INFO(row.what);
  KernelSource source;
  source.constants = {{"BK", 16}};
  source.plan.let = row.let;
  source.plan.require = row.require;
  source.plan.launches = {{.name = "main", .entry = "gemm", .grid = {"k"}, .block = {"BK"}}};
  const DeviceSpec device;
  const Task task = gemm_512();
  const PlanRequirements requirements(source, task, device);
  CHECK(requirements.hold(shape(512, 512, 60)) == row.at_60);
  CHECK(requirements.hold(shape(512, 512, 64)) == row.at_64);
  CHECK(resolves(source, task, shape(512, 512, 60), device) == row.at_60);
  CHECK(resolves(source, task, shape(512, 512, 64), device) == row.at_64);
  const Workload lacking{.sizes = {{"m", 8}, {"n", 8}}};
  CHECK(requirements.hold(lacking) == resolves(source, task, lacking, device));
}

TEST_CASE("the built-in templates' requirements hold as they resolve", "[kernel]") {
  Rng rng(7);
  const DeviceSpec device;
  const Task task = gemm_512();
  int held = 0, unmet = 0;
  for (const Tunable& tunable : builtin_tunables()) {
    KernelSource source;
    source.plan = tunable.plan;
    for (const TunableParameter& parameter : tunable.parameters)
      source.constants[parameter.constant] = parameter.plain;
    const PlanRequirements requirements(source, task, device);
    for (int i = 0; i < 40; ++i) {
      const std::int64_t unit = std::int64_t{1} << rng.below(7);
      const Workload drawn =
          shape(unit * (1 + rng.below(9)), unit * (1 + rng.below(9)), unit * (1 + rng.below(9)));
      INFO(tunable.name << " " << drawn.sizes.at("m") << " " << drawn.sizes.at("n") << " "
                        << drawn.sizes.at("k"));
      const bool holds = requirements.hold(drawn);
      CHECK(holds == resolves(source, task, drawn, device));
      ++(holds ? held : unmet);
    }
  }
  CHECK(held > 100);
  CHECK(unmet > 50);
}
