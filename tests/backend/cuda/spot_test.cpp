// The controller's own reference values, which need no device: they are those of the whole inputs.
#include "backend/cuda/spot.hpp"

#include <algorithm>
#include <cmath>

#include <cupilot/parts/suite.hpp>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"
#include "support/kept_images.hpp"
#include "task/index_gap.hpp"

namespace cupilot {
namespace {

auto one_compiler() {
  BackendOptions options = testing::kept_images();
  options.compile_jobs = 1;
  auto pool = CompilePool::open(options);
  REQUIRE(pool);
  return std::move(*pool);
}

TEST_CASE("values of a few elements over the parts of inputs they read equal those over the whole",
          "[virtual][threads]") {
  const auto pool = one_compiler();
  VirtualInputs inputs(64 << 20);
  VirtualOracle oracle(*pool, "sm_90a", inputs, 64 << 20);
  SpotCheck spot(*pool, "sm_90a");
  const GemmSpec rows[] = {
      {.m = 33, .n = 65, .k = 17},
      {.m = 40, .n = 24, .k = 50, .dtype = DType::bf16, .layout = "tt"},
      {.m = 1100, .n = 1, .k = 1000},  // more than 4 MiB of inputs: several threads
  };
  for (const GemmSpec& row : rows) {
    const auto task = gemm_task(row);
    REQUIRE(task);
    const TaskRef shared(*task);
    const std::size_t output = task->tensors.size() - 1;
    REQUIRE(task->tensors[output].role == Role::out);
    for (const ContentKind kind : {ContentKind::ordinary, ContentKind::probe}) {
      INFO(row.m << " " << static_cast<int>(kind));
      Case what;
      what.workload = task->time_shapes.front();
      what.content = {.seed = 11, .kind = kind};
      auto all = oracle.values(shared, output, what.workload, what.content, 0);
      REQUIRE(all);
      auto few = spot.values(shared, output, what, {5, 20}, (row.m * row.n) / 2);
      REQUIRE(few);
      REQUIRE((*few)->indices.size() >= 64);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < (*few)->indices.size(); ++i) {
        const auto at = static_cast<std::size_t>((*few)->indices[i]);
        const bool same =
            (*few)->values[i] == (*all)->values.at(at) && (*few)->sums[i] == (*all)->sums.at(at);
        wrong += same ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("elements of long folds are few, and none where one is too dear", "[virtual][threads]") {
  const auto pool = one_compiler();
  SpotCheck spot(*pool, "sm_90a");
  struct Row {
    const char* width;
    std::size_t least, most;  // elements looked at, of runs of eight
  };
  for (const Row& row : {Row{"w=10", 24, 128}, Row{"w=3000", 8, 16}, Row{"w=20000", 0, 0}}) {
    INFO(row.width);
    const auto task = task_from_words({"kernelbench:1/33", "n=4", "c=16", "h=10", row.width});
    REQUIRE(task);
    const TaskRef shared(*task);
    Case what;
    what.workload = task->time_shapes.front();
    what.content = {.seed = 11, .kind = ContentKind::ordinary};
    for (std::size_t i = 0; i < task->tensors.size(); ++i) {
      if (task->tensors[i].name != "running_mean") continue;
      const auto few = spot.values(shared, i, what, {0}, 16);
      REQUIRE(few);
      CHECK((*few)->indices.size() >= row.least);
      CHECK((*few)->indices.size() <= row.most);
    }
  }
}

TEST_CASE("elements of a deep graph are computed of stored stages, unless these are too dear",
          "[virtual][threads]") {
  const auto pool = one_compiler();
  VirtualInputs inputs(64 << 20);
  VirtualOracle oracle(*pool, "sm_90a", inputs, 64 << 20);
  SpotCheck spot(*pool, "sm_90a");
  for (const std::int64_t rows : {24, 4096}) {
    const auto task = support::deep_task(5, rows, 64);
    REQUIRE(task);
    const TaskRef shared(*task);
    const std::size_t output = task->tensors.size() - 1;
    REQUIRE(task->tensors[output].name == "y");
    Case what;
    what.workload = task->time_shapes.front();
    what.content = {.seed = 11, .kind = ContentKind::ordinary};
    auto few = spot.values(shared, output, what, {5, 700}, 200);
    REQUIRE(few);
    if (rows > 24) {
      CHECK((*few)->indices.empty());
      continue;
    }
    auto all = oracle.values(shared, output, what.workload, what.content, 0);
    REQUIRE(all);
    REQUIRE((*few)->indices.size() >= 64);
    for (std::size_t i = 0; i < (*few)->indices.size(); ++i) {
      const auto at = static_cast<std::size_t>((*few)->indices[i]);
      CHECK((*few)->values[i] == (*all)->values.at(at));
      CHECK((*few)->sums[i] == (*all)->sums.at(at));
    }
  }
}

TEST_CASE("indices that a kernel left are judged on the host as by the whole reference",
          "[virtual][threads]") {
  using support::input;
  BackendOptions options = testing::kept_images();
  options.compile_jobs = 1;
  auto pool = CompilePool::open(options);
  REQUIRE(pool);
  constexpr std::int64_t rows = 21, cols = 40;
  const auto task =
      support::graph_task({input("x", {"rows", "cols"}), input("w", {"cols"}),
                           support::output("y", {"rows"}, DType::i64)},
                          {{"scale", "mul", {"x", "w"}, {"h"}},
                           {"choice", "argmax", {"h"}, {"y"}, {{"dim", std::int64_t{1}}}}},
                          {{"rows", rows}, {"cols", cols}});
  REQUIRE(task);
  auto made = index_gap_task(*task, 2);
  REQUIRE(made);
  const TaskRef gaps(*made);
  Case what;
  what.workload = task->time_shapes.front();
  what.content = {.seed = 11};
  std::vector<std::int64_t> indices;
  std::vector<std::uint64_t> left;
  for (std::int64_t row = 0; row < rows; ++row)
    indices.push_back(row), left.push_back(static_cast<std::uint64_t>(row * 7 % (cols + 1)));
  VirtualInputs inputs(64 << 20);
  VirtualOracle oracle(**pool, "sm_90a", inputs, 64 << 20);
  const GivenTensor given[] = {{2, std::as_bytes(std::span(left))}};
  auto whole = oracle.with(gaps, 3, what.workload, what.content, given, {.blocks = {0}});
  REQUIRE(whole);
  SpotCheck spot(**pool, "sm_90a");
  const std::vector<std::int64_t> some = {0, 4, 17, 20};
  std::vector<std::uint64_t> bits;
  for (const std::int64_t row : some) bits.push_back(left[static_cast<std::size_t>(row)]);
  const auto found = spot.gaps(gaps, 2, what, some, bits);
  REQUIRE(found);
  REQUIRE(found->indices == some);
  for (std::size_t i = 0; i < some.size(); ++i) {
    CHECK(found->values[i] == whole->values[static_cast<std::size_t>(some[i])]);
    CHECK(found->sums[i] == whole->sums[static_cast<std::size_t>(some[i])]);
  }
  CHECK(*std::max_element(found->values.begin(), found->values.end()) > 0);
  // An input is no index.
  CHECK_FALSE(index_gap_task(*task, 0));
}

}  // namespace
}  // namespace cupilot
