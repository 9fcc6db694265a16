// What warps that a plan launches cost, and numbers that a reference leaves; what neither can buy
// off.
#include <cupilot/family.hpp>
#include <set>

#include "catch.hpp"
#include "support/graph.hpp"
#include "verify/plans.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

std::vector<Case> met(const char* blocks, ProofLevel level) {
  KernelSource source =
      tiled_gemm({{"BM", 16}, {"BN", 16}, {"BK", 8}, {"STAGES", 2}, {"SPLIT", 1}});
  source.plan.launches[0].grid = {blocks};
  return battery(gemm_of(512, 512, 512), source, DeviceSpec{}, level, 1, false);
}

TEST_CASE("a grid that no size makes smaller is paid by its threads") {
  CHECK(met("8", ProofLevel::candidate).size() >= 10);
  // 32768 warps each: those that are taken whatever they cost.
  CHECK(met("4096", ProofLevel::candidate).size() == 3);
}

TEST_CASE("a finalist repeats as often as fits into a second, 40 to 200 times") {
  struct Row {
    std::int64_t m, n, k;
    int repeats;
  };
  DeviceSpec device;
  device.dram_sustained = 4e12;
  // 8192: 805 MB moved four times are 805 us; 1.1e12 operations at 1e13 a second are 110 ms.
  for (const double rate : {0.0, 1e13}) {
    device.sustained_flops.fill(rate);
    for (const Row& row :
         {Row{64, 64, 64, 200}, Row{8192, 8192, 8192, rate > 0 ? 40 : 200},
          Row{2048, 2048, 2048, rate > 0 ? 200 : 200}, Row{131072, 131072, 64, 40}}) {
      const TaskRef task(gemm_of(row.m, row.n, row.k));
      INFO(row.m << " " << row.n << " " << row.k << " at " << rate);
      CHECK(finalist_repeats(*task, device, task->time_shapes[0]) == row.repeats);
    }
  }
}

TEST_CASE("a fixed large grid meets each content and variation that a small one does") {
  const auto owed = [](const std::vector<Case>& cases) {
    std::set<std::pair<ContentKind, Variation>> all;
    for (const Case& run : cases) all.insert({run.content.kind, run.content.variation});
    return all;
  };
  const auto shapes = [](const std::vector<Case>& cases) {
    std::set<Sizes> all;
    for (const Case& run : cases) {
      if (run.content.kind == ContentKind::special) all.insert(run.workload.sizes);
    }
    return all;
  };
  for (const ProofLevel level : {ProofLevel::elite, ProofLevel::finalist}) {
    const std::vector<Case> small = met("8", level), large = met("65536", level);
    CHECK(owed(small).size() >= 15);
    CHECK(owed(large) == owed(small));
    CHECK(shapes(large) == shapes(small));
    CHECK(large.size() == small.size());
  }
}

// KernelBench level 1, task 34: three terms an element of tens of millions.
TEST_CASE("a case leaves no more numbers than a virtual device judges in seconds") {
  const Task task = *task_from_words({"kernelbench:1/34"}, builtin_families());
  for (const auto& [level, budget] : {std::pair{ProofLevel::candidate, 24e6},
                                      {ProofLevel::elite, 60e6},
                                      {ProofLevel::finalist, 120e6}}) {
    std::set<Sizes> shapes;
    for (const Case& run : battery(task, KernelSource{}, DeviceSpec{}, level, 1, false)) {
      if (run.sampled) continue;
      shapes.insert(run.workload.sizes);
      double elements = 1;
      for (const auto& [axis, size] : run.workload.sizes) elements *= static_cast<double>(size);
      CHECK(elements <= budget / 8);
    }
    CHECK(shapes.size() >= 2);
  }
}

TEST_CASE("a plan that asks for more than a tile of an axis meets a candidate's contents") {
  const auto task = support::graph_task(
      {support::input("x", {"b", "h", "w"}), support::output("y", {"b", "h", "w"})},
      {{"op", "relu", {"x"}, {"y"}, {}}}, {{"b", 16}, {"h", 256}, {"w", 256}});
  if (!task) FAIL(task.error().message);
  KernelSource source;
  source.plan.require = {"w > 33 && h > 33"};
  source.plan.launches = {{.entry = "k", .grid = {"b*h*w"}, .block = {128}}};
  std::set<ContentKind> kinds;
  for (const Case& run : battery(*task, source, DeviceSpec{}, ProofLevel::candidate, 1, false)) {
    CHECK(run.workload.sizes.at("w") > 33);
    CHECK(run.workload.sizes.at("h") > 33);
    kinds.insert(run.content.kind);
  }
  CHECK(kinds.size() >= 5);
}

// Task 68: 105 places of a window times 64 channels for each element, at the task's least sizes.
TEST_CASE("a reference beyond a device at a few dozen elements is met at a dozen") {
  const auto task =
      support::graph_task({support::input("x", {"n", "c", "d", "h", "w"}),
                           support::input("weight", {"c", "o", 3, 5, 7}),
                           support::output("y", {"n", "o", "d + 2", "h + 4", "w + 6"})},
                          {{"conv", "conv_transpose3d", {"x", "weight"}, {"y"}, {}}},
                          {{"n", 16}, {"c", 32}, {"o", 64}, {"d", 64}, {"h", 64}, {"w", 64}});
  if (!task) FAIL(task.error().message);
  KernelSource source;
  source.plan.launches = {{.entry = "k",
                           .grid = {"cdiv(w, 64)*cdiv(h, 64)", "cdiv(o, 64)", "n*cdiv(d, 64)"},
                           .block = {128}}};
  for (const ProofLevel level : {ProofLevel::candidate, ProofLevel::elite}) {
    for (const Case& run : battery(*task, source, DeviceSpec{}, level, 1, false))
      CHECK(reference_price(*task, run.workload) <=
            (level == ProofLevel::candidate ? 48e6 : 120e6));
  }
}

TEST_CASE("contents that a few dozen elements make too dear are met at a dozen") {
  const auto task = support::graph_task(
      {support::input("x", {"n", 64, "h", "w"}), support::input("weight", {"o", 64, 3, 3}),
       support::output("y", {"n", "o", "h - 2", "w - 2"})},
      {{"conv", "conv2d", {"x", "weight"}, {"y"}, {}}},
      {{"n", 16}, {"o", 128}, {"h", 256}, {"w", 256}});
  if (!task) FAIL(task.error().message);
  KernelSource source;
  source.plan.launches = {
      {.entry = "k", .grid = {"cdiv(w, 32)*h", "cdiv(o, 32)", "n"}, .block = {128}}};
  for (const ProofLevel level : {ProofLevel::elite, ProofLevel::finalist}) {
    std::set<ContentKind> kinds;
    for (const Case& run : battery(*task, source, DeviceSpec{}, level, 1, false))
      kinds.insert(run.content.kind);
    CHECK(kinds.size() == 14);
  }
}

}  // namespace
}  // namespace cupilot
