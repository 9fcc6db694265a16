// Pools from patches in shared memory: every form of a window is right by its reference.
#include <cupilot/family.hpp>

#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/windows.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

struct Pool {
  const char* kind;
  std::vector<Expr> x, result;
  std::map<std::string, Attribute> attributes{};
  DType type = DType::f32;
};

// A pool with an operator behind it; `before`: one in front of it too.
Task pool_task(const Pool& pool, bool before = false) {
  std::vector<Operation> operations;
  if (before) operations.push_back({"before", "abs", {"x"}, {"r"}});
  operations.push_back({"pool", pool.kind, {before ? "r" : "x"}, {"p"}, pool.attributes});
  operations.push_back({"act", "relu", {"p"}, {"y"}});
  auto task =
      graph_task({input("x", pool.x, pool.type), output("y", pool.result)}, std::move(operations),
                 {{"n", 2}, {"ch", 3}, {"d", 7}, {"h", 11}, {"w", 20}, {"l", 90}});
  REQUIRE(task);
  return *task;
}

const std::vector<Expr> line = {"n", "ch", "l"}, space = {"n", "ch", "d", "h", "w"};
const Values narrow = {{"THREADS", 64}, {"LANES", 8}, {"DOWN", 1}, {"ALONG", 1}, {"DEPTH", 1}};
const Values wide = {{"THREADS", 64}, {"LANES", 16}, {"DOWN", 2}, {"ALONG", 3}, {"DEPTH", 2}};

Pool of(const char* kind, std::vector<Expr> x, std::vector<Expr> result, Integers kernel,
        Integers stride, Integers padding, std::map<std::string, Attribute> more = {}) {
  more["kernel_size"] = std::move(kernel);
  more["stride"] = std::move(stride);
  more["padding"] = std::move(padding);
  return {kind, std::move(x), std::move(result), std::move(more)};
}

TEST_CASE("windows slide over lines at every stride, dilation and padding", "[hooks][threads]") {
  const std::vector<Pool> pools = {
      of("avg_pool1d", line, {"n", "ch", "l+1"}, {8}, {1}, {4}),
      of("avg_pool1d", line, {"n", "ch", "(l-1)/2+1"}, {3}, {2}, {1},
         {{"count_include_pad", std::int64_t{0}}}),
      of("max_pool1d", line, {"n", "ch", "l-13"}, {8}, {1}, {4}, {{"dilation", Integers{3}}}),
      of("max_pool1d", line, {"n", "ch", "(l-5)/3+1"}, {5}, {3}, {0}),
      of("max_pool1d", line, {"n", "ch", "(l-4)/5+1"}, {4}, {5}, {0})};
  for (const Pool& pool : pools) {
    check_accepted(pool_task(pool), "window_slide", narrow);
    check_accepted(pool_task(pool), "window_slide", wide);
  }
}

TEST_CASE("windows slide over planes, the last of them beyond the padding", "[hooks][threads]") {
  const std::map<std::string, Attribute> ceil = {{"ceil_mode", std::int64_t{1}}};
  const std::vector<Pool> pools = {
      of("max_pool2d", plane, {"n", "ch", "h-1", "w-1"}, {4, 4}, {1, 1}, {1, 1}),
      of("avg_pool2d", plane, {"n", "ch", "h/2+1", "w/3+1"}, {3, 4}, {2, 3}, {1, 1}, ceil),
      of("avg_pool2d", plane, {"n", "ch", "h", "w"}, {3, 3}, {1, 1}, {1, 1},
         {{"count_include_pad", std::int64_t{0}}}),
      of("max_pool2d", plane, {"n", "ch", "h", "(w-2)/2+1"}, {1, 2}, {1, 2}, {0, 0}),
      of("avg_pool2d", plane, {"n", "ch", "h/2", "w/4"}, {2, 4}, {2, 4}, {0, 0},
         {{"divisor_override", std::int64_t{5}}})};
  for (const Pool& pool : pools) {
    check_accepted(pool_task(pool), "window_slide", narrow);
    check_accepted(pool_task(pool, true), "window_slide", wide);
  }
}

TEST_CASE("windows slide through spaces, several planes under way", "[hooks][threads]") {
  const std::vector<Pool> pools = {
      of("avg_pool3d", space, {"n", "ch", "(d+1)/2", "(h+1)/2", "(w+1)/2"}, {3, 3, 3}, {2, 2, 2},
         {1, 1, 1}),
      of("max_pool3d", space, {"n", "ch", "(d-3)/2", "(h-3)/2", "(w-3)/2"}, {3, 3, 3}, {2, 2, 2},
         {1, 1, 1}, {{"dilation", Integers{3, 3, 3}}}),
      of("max_pool3d", space, {"n", "ch", "d", "h-1", "w-2"}, {3, 2, 3}, {1, 1, 1}, {1, 0, 0}),
      of("avg_pool3d", space, {"n", "ch", "(d-1)/3+1", "h/2", "w"}, {1, 2, 1}, {3, 2, 1},
         {0, 0, 0})};
  Values deep = wide;
  deep["DEPTH"] = 4;
  for (const Pool& pool : pools) {
    check_accepted(pool_task(pool), "window_slide", narrow);
    check_accepted(pool_task(pool), "window_slide", wide);
    check_accepted(pool_task(pool, true), "window_slide", deep);
  }
}

TEST_CASE("rows that are no whole quads, and narrow elements, slide too", "[hooks][threads]") {
  Pool odd =
      of("max_pool2d", {"n", "ch", "w", "h"}, {"n", "ch", "w-2", "h-2"}, {3, 3}, {1, 1}, {0, 0});
  check_accepted(pool_task(odd), "window_slide", wide);
  odd = of("avg_pool2d", plane, {"n", "ch", "h-2", "w-2"}, {3, 3}, {1, 1}, {0, 0});
  odd.type = DType::bf16;
  check_accepted(pool_task(odd), "window_slide", wide);
}

TEST_CASE("a tile of more lines than there are reads no element past the last",
          "[hooks][threads]") {
  const Pool pool = of("avg_pool1d", line, {"n", "ch", "l+1"}, {8}, {1}, {4});
  check_accepted(pool_task(pool), "window_direct", {{"THREADS", 64}, {"ACROSS", 8}, {"ALONG", 3}});
}

TEST_CASE("windows of other places than a grid's are none that slide", "[hooks]") {
  const Pool adaptive{
      "adaptive_avg_pool2d", plane, {"n", "ch", 3, 7}, {{"output_size", Integers{3, 7}}}};
  const auto task = pool_task(adaptive);
  CHECK(named(templates_of(builtin_families(), task), task, "window_slide") == nullptr);
}

// A depthwise convolution of planes of h by w with a bias and an operator behind it.
Task depthwise_task(std::vector<Expr> result, Integers taps, Integers stride, Integers padding,
                    Integers dilation = {1, 1}) {
  const Expr rows = std::to_string(taps[0]), columns = std::to_string(taps[1]);
  auto task = graph_task({input("x", {"n", 3, "h", "w"}), input("k", {3, 1, rows, columns}),
                          input("b", {3}), output("y", std::move(result))},
                         {{"conv",
                           "conv2d",
                           {"x", "k", "b"},
                           {"c"},
                           {{"stride", stride},
                            {"padding", padding},
                            {"dilation", dilation},
                            {"groups", std::int64_t{3}}}},
                          {"act", "relu", {"c"}, {"y"}}},
                         {{"n", 2}, {"h", 11}, {"w", 20}});
  REQUIRE(task);
  return *task;
}

// The weights come through an operator, so that special content holds infinities among them.
TEST_CASE("windows whose factors may be infinite do not slide", "[hooks]") {
  for (const char* before : {"tanh", "reciprocal", "abs"}) {
    const auto task = graph_task(
        {input("x", {"n", 3, "h", "w"}), input("k", {3, 1, 3, 3}), output("y", {"n", 3, "h", "w"})},
        {{"before", before, {"k"}, {"m"}},
         {"conv",
          "conv2d",
          {"x", "m"},
          {"y"},
          {{"padding", Integers{1, 1}}, {"groups", std::int64_t{3}}}}},
        {{"n", 2}, {"h", 11}, {"w", 20}});
    REQUIRE(task);
    CHECK(named(templates_of(builtin_families(), *task), *task, "window_slide") == nullptr);
  }
}

TEST_CASE("windows slide with factors of their planes", "[hooks][threads]") {
  const std::vector<Task> tasks = {
      depthwise_task({"n", 3, "h-2", "w-2"}, {3, 3}, {1, 1}, {0, 0}),
      depthwise_task({"n", 3, "h", "w"}, {3, 3}, {1, 1}, {1, 1}),
      depthwise_task({"n", 3, "(h-3)/2+1", "(w+2-5)/3+1"}, {3, 5}, {2, 3}, {0, 1}),
      depthwise_task({"n", 3, "h-8+4", "w-1"}, {5, 2}, {1, 1}, {2, 0}, {2, 1}),
      depthwise_task({"n", 3, "h", "w-6"}, {1, 7}, {1, 1}, {0, 0})};
  for (const Task& task : tasks) {
    check_accepted(task, "window_slide", narrow);
    check_accepted(task, "window_slide", wide);
  }
}

}  // namespace
}  // namespace cupilot
