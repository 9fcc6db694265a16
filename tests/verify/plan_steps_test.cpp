#include "verify/plan_steps.hpp"

#include <cupilot/parts/tunable.hpp>

#include "catch.hpp"
#include "verify/plans.hpp"

namespace cupilot {
namespace {

TEST_CASE("steps are read off the plan") {
  struct Case {
    const char* what;
    std::vector<std::pair<std::string, Expr>> let;
    Expr grid;
    std::vector<std::int64_t> m, k;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"cdiv by a constant", {}, "cdiv(m,BM)*cdiv(k,BK)", {128}, {16}},
      {"by a product", {}, "cdiv(m,BM*2)*cdiv(k,BK)", {256}, {16}},
      {"through definitions",
       {{"rows", "m"}, {"side", "BM/2"}, {"t", "cdiv(rows,side)"}, {"s", "cdiv(k,BK)"}},
       "t*s",
       {64},
       {16}},
      {"definitions that stand on one another twice and on themselves",
       {{"rows", "m+0*self"}, {"self", "rows*0"}, {"both", "rows+rows"}},
       "cdiv(both-rows,BM)*cdiv(k,BK)",
       {128},
       {16}},
      {"literal", {}, "cdiv(m,32)*cdiv(k,8)", {32}, {8}},
      {"as C writes it", {}, "(m+BM-1)/BM*up(k,BK)", {128}, {16}},
      {"two steps", {}, "cdiv(m,BM)*cdiv(m,32)*cdiv(k,BK)", {32, 128}, {16}},
      {"tiles of tiles are no elements",
       {{"t", "cdiv(m,BM)"}},
       "cdiv(t,4)*cdiv(k,BK)",
       {128},
       {16}},
      {"by ones", {}, "cdiv(m,1)*cdiv(k,BK)", {1}, {16}},
      {"a reduced axis by ones says nothing", {}, "cdiv(m,BM)*cdiv(k,1)", {128}, {8, 128}},
      {"rows of a product but its last axis",
       {{"places", "m*n*k/(n*k)"}},
       "cdiv(places*k,BM)*cdiv(k,BK)",
       {},
       {16, 128}},
      {"a choice by an axis may be a tile's side",
       {{"tiles", "cdiv(m, n > 64 ? 8 : 48)"}},
       "tiles",
       {8, 128},
       {8, 128}},
      {"a definition by ones is the axis itself",
       {{"rows", "cdiv(m,BM/BM)"}},
       "rows",
       {},
       {8, 128}},
      {"a divisor with an axis is no step",
       {},
       "cdiv(m,BM)*cdiv(k,max(1,n))*cdiv(k,BK)",
       {128},
       {16}},
  }));
  INFO(c.what);
  KernelSource source = tiled_gemm();
  source.plan.let = c.let;
  source.plan.launches[0].grid = {c.grid};
  const PlanSteps steps = plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{});
  CHECK(steps.by_axis.at("m") == c.m);
  CHECK(steps.by_axis.at("k") == c.k);
  CHECK(steps.stages == 3);
  CHECK(steps.split == 4);
  CHECK(steps.group == 8);
}

TEST_CASE("definitions that stand on one another in many ways are each read once") {
  KernelSource source = tiled_gemm();
  source.plan.let = {{"d0", "m"}};
  for (int i = 1; i <= 60; ++i) {
    const std::string before = "d" + std::to_string(i - 1);
    source.plan.let.emplace_back("d" + std::to_string(i), before + "+" + before + "-" + before);
  }
  source.plan.launches[0].grid = {"cdiv(d60,BM)*cdiv(k,BK)"};
  CHECK(plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{}).by_axis.at("m") ==
        std::vector<std::int64_t>{128});
}

TEST_CASE("of a product that a step divides the whole is padded") {
  struct Row {
    const char* grid;
    Sizes sizes, padded;
  };
  const auto row = GENERATE(values<Row>({
      {"cdiv(m*n,BM)*cdiv(k,BK)",
       {{"m", 37}, {"n", 16}, {"k", 40}},
       {{"m", 37}, {"n", 18}, {"k", 48}}},
      {"cdiv(m*n,BM)*cdiv(k,BK)",
       {{"m", 1}, {"n", 130}, {"k", 48}},
       {{"m", 1}, {"n", 256}, {"k", 48}}},
      // An axis that a step of its own divides as well, a sum, and no product.
      {"cdiv(m*n,BM)*cdiv(m,BK)",
       {{"m", 37}, {"n", 16}, {"k", 1}},
       {{"m", 48}, {"n", 16}, {"k", 128}}},
      {"cdiv(m*n,BM)*cdiv(n,BM)",
       {{"m", 37}, {"n", 16}, {"k", 1}},
       {{"m", 37}, {"n", 128}, {"k", 128}}},
      {"cdiv(m+n,BM)*cdiv(k,BK)",
       {{"m", 37}, {"n", 16}, {"k", 40}},
       {{"m", 37}, {"n", 128}, {"k", 48}}},
      {"cdiv(m,BM)*cdiv(k,BK)",
       {{"m", 37}, {"n", 16}, {"k", 40}},
       {{"m", 128}, {"n", 16}, {"k", 48}}},
      // Elements that a block of another launch takes.
      {"cdiv(m,BM)*cdiv(n*m,4096)*cdiv(k,BK)",
       {{"m", 37}, {"n", 16}, {"k", 40}},
       {{"m", 128}, {"n", 32}, {"k", 48}}},
      {"cdiv(n,BM)*cdiv(m*n,4096)*cdiv(k,BK)",
       {{"m", 37}, {"n", 16}, {"k", 40}},
       {{"m", 37}, {"n", 128}, {"k", 48}}},
  }));
  INFO(row.grid);
  KernelSource source = tiled_gemm();
  source.plan.let.clear();
  source.plan.launches[0].grid = {row.grid};
  CHECK(plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{}).padded(row.sizes) == row.padded);
}

TEST_CASE("an axis that borrows constants of several launches is padded to the least") {
  KernelSource source = tiled_gemm();
  source.plan.let.clear();
  source.plan.launches[0].grid = {"cdiv(m,BM)"};
  const Sizes sizes = {{"m", 37}, {"k", 3}};
  CHECK(plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{}).padded(sizes) ==
        Sizes{{"m", 128}, {"k", 128}});
  source.plan.launches.push_back(source.plan.launches[0]);
  CHECK(plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{}).padded(sizes) ==
        Sizes{{"m", 128}, {"k", 8}});
}

// A number that a definition divides an axis by counts as a tile: proofs would run products
// thousands deep.
TEST_CASE("the built-in templates step an axis by no more than their tiles") {
  for (const Tunable& tunable : builtin_tunables()) {
    if (tunable.family != "gemm") continue;
    KernelSource source;
    source.plan = tunable.plan;
    for (const TunableParameter& parameter : tunable.parameters)
      source.constants[parameter.constant] = parameter.plain;
    for (const auto& [axis, steps] :
         plan_steps(gemm_of(4096, 4096, 4096), source, DeviceSpec{}).by_axis) {
      INFO(tunable.name << ", axis " << axis);
      for (const std::int64_t step : steps) CHECK(step <= 512);
    }
  }
}

TEST_CASE("a plan that names no axis lends its constants to all") {
  KernelSource source = tiled_gemm();
  source.plan.let.clear();
  source.plan.launches[0].grid = {"batch"};
  const PlanSteps steps = plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{});
  CHECK(steps.by_axis.at("m") == std::vector<std::int64_t>{8, 128});
}

TEST_CASE("an axis that is the grid's length borrows no constants") {
  KernelSource source = tiled_gemm();
  source.plan.let.clear();
  source.plan.launches[0].grid = {"m"};
  const PlanSteps steps = plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{});
  CHECK(steps.by_axis.at("m").empty());
  CHECK(steps.by_axis.at("n") == std::vector<std::int64_t>{8, 128});
  source.plan.require = {"m%1==0"};
  CHECK(plan_steps(gemm_of(512, 512, 512), source, DeviceSpec{}).by_axis.at("m").empty());
}

// The reference of a row softmax walks a row anew for each of its elements: teams of many threads
// made few, dear shapes.

}  // namespace
}  // namespace cupilot
