// What a plan's launched warps cost, and what they cannot buy off.
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

}  // namespace
}  // namespace cupilot
