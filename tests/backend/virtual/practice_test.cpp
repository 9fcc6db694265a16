// Practice of templates with hooks and of attention: the space of a task that such a template
// serves takes each starting point as it stands.
#include <cupilot/family.hpp>
#include <cupilot/parts/pool.hpp>

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

// Tasks that templates of the family serve.
std::vector<Task> tasks_of(const std::string& family, const std::string& precision) {
  if (family == "attention") return {attention(precision, "64"), attention(precision, "128")};
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

TEST_CASE("starting points of graphs and attention reach their templates", "[practice]") {
  for (const char* name : {"attention", "axiswise", "pointwise", "rowwise", "scanwise"}) {
    const Family* family = find_family(builtin_families(), name);
    REQUIRE(family != nullptr);
    CHECK(family->practice.size() >= 8);
    for (const PoolEntry& entry : family->practice) {
      INFO(name << " " << entry.precision << ": " << entry.text);
      CHECK(entry.family == name);
      CHECK(lost(entry) == "");
    }
  }
}

}  // namespace
}  // namespace cupilot
