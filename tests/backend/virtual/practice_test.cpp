// Practice of templates with hooks, of windows and of attention: the space of a task that such a
// template serves takes each starting point as it stands.
#include <cupilot/family.hpp>
#include <cupilot/parts/pool.hpp>

#include <set>

#include <fmt/ranges.h>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

DType type_of(const std::string& precision) {
  return precision == "bf16" ? DType::bf16 : precision == "fp16" ? DType::f16 : DType::f32;
}

// One operator from x to y, over rows and columns, or over an inner dimension.
Task one_operator(const std::string& op, std::map<std::string, Attribute> attributes,
                  std::vector<Expr> from, std::vector<Expr> to, const std::string& precision,
                  const Sizes& sizes) {
  const DType type = type_of(precision);
  const Precision asked = type == DType::bf16  ? Precision::bf16
                          : type == DType::f16 ? Precision::fp16
                                               : Precision::fp32_strict;
  auto task = graph_task({input("x", std::move(from), type), output("y", std::move(to), type)},
                         {{"one", op, {"x"}, {"y"}, std::move(attributes)}}, sizes, asked);
  if (!task) FAIL(task.error().message);
  return *task;
}

Task attention(const std::string& precision, const std::string& head) {
  auto task = task_from_words({"attention", "batch=64", "queries=2048", "keys=2048",
                               "width=" + head, "out=" + head, "precision=" + precision,
                               "dtype=" + std::string(name_of(type_of(precision)))});
  if (!task) FAIL(task.error().message);
  return *task;
}

// A convolution or pool of the kinds that starting points name.
Task windows(const std::string& op, std::vector<Expr> x, std::vector<Expr> weight,
             std::vector<Expr> result, std::map<std::string, Attribute> attributes,
             const std::string& precision) {
  const DType type = type_of(precision);
  std::vector<Tensor> tensors = {input("x", std::move(x), type)};
  std::vector<std::string> names = {"x"};
  if (!weight.empty()) {
    tensors.push_back(input("weight", std::move(weight), type));
    names.emplace_back("weight");
  }
  tensors.push_back(output("y", std::move(result), type));
  const auto asked = precision_from(precision);
  REQUIRE(asked);
  auto task = graph_task(
      std::move(tensors), {{"one", op, std::move(names), {"y"}, std::move(attributes)}},
      {{"n", 16}, {"c", 32}, {"o", 64}, {"d", 16}, {"h", 64}, {"w", 64}, {"l", 65536}}, *asked);
  if (!task) FAIL(task.error().message);
  return *task;
}

std::vector<Task> windows_of(const std::string& family, const std::string& precision) {
  using Whole = std::vector<std::int64_t>;
  const std::vector<Expr> line = {"n", "c", "l"}, plane = {"n", "c", "h", "w"},
                          space = {"n", "c", "d", "h", "w"};
  if (family == "window") {
    const auto taps = [](Whole size) {
      return std::map<std::string, Attribute>{{"kernel_size", size},
                                              {"stride", Whole(size.size(), 1)}};
    };
    return {windows("max_pool1d", line, {}, {"n", "c", "l-7"}, taps({8}), precision),
            windows("max_pool2d", plane, {}, {"n", "c", "h-3", "w-3"}, taps({4, 4}), precision),
            windows("max_pool3d", space, {}, {"n", "c", "d-2", "h-2", "w-2"}, taps({3, 3, 3}),
                    precision)};
  }
  if (family == "convolution") {
    return {windows("conv2d", plane, {"o", "c", 1, 1}, {"n", "o", "h", "w"}, {}, precision),
            windows("conv2d", plane, {"o", "c", 3, 3}, {"n", "o", "h-2", "w-2"}, {}, precision),
            windows("conv2d", plane, {128, "c", 3, 3}, {"n", 128, "h-2", "w-2"}, {}, precision),
            windows("conv1d", line, {128, "c", 3}, {"n", 128, "l-2"}, {}, precision),
            windows("conv2d", {"n", 32, "h", "w"}, {32, 1, 3, 3}, {"n", 32, "h-2", "w-2"},
                    {{"groups", std::int64_t{32}}}, precision)};
  }
  const std::vector<Expr> cube = {"c", "o", 3, 3, 3};
  const std::map<std::string, Attribute> strided = {{"stride", Whole{2, 2, 2}},
                                                    {"padding", Whole{1, 1, 1}}};
  std::map<std::string, Attribute> dilated = strided, grouped = strided;
  dilated["dilation"] = Whole{2, 2, 2};
  grouped["padding"] = Whole{1, 2, 3};
  grouped["output_padding"] = Whole{1, 1, 1};
  grouped["groups"] = std::int64_t{4};
  const std::map<std::string, Attribute> uneven = {{"stride", Whole{2, 3}},
                                                   {"padding", Whole{1, 2}},
                                                   {"dilation", Whole{2, 1}},
                                                   {"groups", std::int64_t{4}}};
  return {
      windows("conv_transpose1d", line, {"c", 128, 3}, {"n", 128, "l+2"}, {}, precision),
      windows("conv_transpose1d", line, {"c", "o", 3}, {"n", "o", "l*2+1"}, {{"stride", Whole{2}}},
              precision),
      windows("conv_transpose2d", plane, {"c", 128, 3, 5}, {"n", 128, "h+2", "w+4"}, {}, precision),
      windows("conv_transpose2d", plane, {"c", 32, 3, 7}, {"n", 32, "h+2", "w+6"}, {}, precision),
      windows("conv_transpose2d", plane, {"c", 16, 3, 5}, {"n", 64, "h*2+1", "w*3-2"}, uneven,
              precision),
      windows("conv_transpose3d", space, cube, {"n", "o", "d+2", "h+2", "w+2"}, {}, precision),
      windows("conv_transpose3d", space, {"c", 24, 3, 3, 3}, {"n", 24, "d+2", "h+2", "w+2"}, {},
              precision),
      windows("conv_transpose3d", space, {"c", 32, 3, 3, 3}, {"n", 32, "d*2-1", "h*2-1", "w*2-1"},
              strided, precision),
      windows("conv_transpose3d", space, cube, {"n", "o", "d*2+1", "h*2+1", "w*2+1"}, dilated,
              precision),
      windows("conv_transpose3d", space, {"c", 8, 3, 5, 7}, {"n", 32, "d*2", "h*2", "w*2"}, grouped,
              precision)};
}

// A normalisation of groups and the least of its channels: reductions of several parts of a row.
Task group_norm_then_least(const std::string& precision) {
  const DType type = type_of(precision);
  auto task =
      graph_task({input("x", {"rows", "cols"}, type), input("g", {"cols"}, type),
                  input("b", {"cols"}, type), output("y", {"rows", 1}, type)},
                 {{"norm", "group_norm", {"x", "g", "b"}, {"h"}, {{"groups", std::int64_t{8}}}},
                  {"least",
                   "amin",
                   {"h"},
                   {"y"},
                   {{"dim", std::vector<std::int64_t>{1}}, {"keepdim", std::int64_t{1}}}}},
                 {{"rows", 1024}, {"cols", 1024}}, *precision_from(precision));
  if (!task) FAIL(task.error().message);
  return *task;
}

// Tasks that templates of the family serve.
std::vector<Task> tasks_of(const std::string& family, const std::string& precision) {
  if (family == "attention") return {attention(precision, "64"), attention(precision, "128")};
  if (family == "blockwise") return {group_norm_then_least(precision)};
  if (family == "window" || family == "convolution" || family == "transposed_convolution")
    return windows_of(family, precision);
  const std::vector<Expr> whole = {"rows", "cols"};
  const auto over = [](std::int64_t dim) {
    return std::map<std::string, Attribute>{{"dim", std::vector<std::int64_t>{dim}}};
  };
  std::vector<Task> tasks;
  for (const auto& [rows, columns] :
       {std::pair(65536, 16384), std::pair(7168, 262144), std::pair(32768, 65535),
        std::pair(32768, 4096), std::pair(16, 4194304), std::pair(524160, 4096),
        std::pair(7340032, 64), std::pair(1, 1073741824)}) {
    const auto add = [&, sizes = Sizes{{"rows", rows}, {"cols", columns}}](
                         const std::string& op, std::map<std::string, Attribute> attributes,
                         std::vector<Expr> from, std::vector<Expr> to) {
      tasks.push_back(one_operator(op, std::move(attributes), std::move(from), std::move(to),
                                   precision, sizes));
    };
    if (family == "pointwise") add("relu", {}, whole, whole);
    if (family == "rowwise") add("layer_norm", {}, whole, whole);
    if (family == "scanwise") add("cumsum", {{"dim", std::int64_t{1}}}, whole, whole);
    if (family != "axiswise") continue;
    add("sum", over(1), {"rows", "cols"}, {"rows"});
    add("sum", over(0), {"cols", "rows"}, {"rows"});
    add("softmax", {{"dim", std::int64_t{0}}}, {"cols", "rows"}, {"cols", "rows"});
  }
  return tasks;
}

// Says what spaces do not take of a starting point, by the task that takes most; "": all is taken.
std::string lost(const PoolEntry& entry) {
  std::string least = "no template takes it";
  std::size_t fewest = entry.strategy.uses.size() + 1;
  for (const Task& task : tasks_of(entry.family, entry.precision)) {
    const auto space =
        make_space(task, virtual_h200().device(), templates_of(builtin_families(), task));
    REQUIRE(space);
    const auto completed = (*space)->complete(entry.strategy);
    if (!completed) continue;
    if (completed->dropped.empty()) return "";
    if (completed->dropped.size() >= fewest) continue;
    fewest = completed->dropped.size();
    least = fmt::format("{}", fmt::join(completed->dropped, "; "));
  }
  return least;
}

TEST_CASE("starting points of graphs, windows and attention reach their templates", "[practice]") {
  const std::set<std::string> of_windows = {"window", "convolution", "transposed_convolution"};
  for (const char* name :
       {"attention", "axiswise", "blockwise", "pointwise", "rowwise", "scanwise", "windowed"}) {
    const Family* family = find_family(builtin_families(), name);
    REQUIRE(family != nullptr);
    CHECK(family->practice.size() >= 6);
    for (const PoolEntry& entry : family->practice) {
      INFO(name << " " << entry.precision << ": " << entry.text);
      if (std::string(name) == "windowed") {
        CHECK(of_windows.contains(entry.family));
      } else {
        CHECK(entry.family == name);
      }
      CHECK(lost(entry) == "");
    }
  }
}

}  // namespace
}  // namespace cupilot
