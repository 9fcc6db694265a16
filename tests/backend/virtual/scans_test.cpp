// The template of scans on graphs that shift, turn, mask and cut rows: every kernel is right by the
// graph's reference, at lengths that end within a vector and rows that begin within one.
#include <cupilot/family.hpp>

#include "kernel/plan_requirements.hpp"
#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;
using namespace support::rows;
using Attributes = std::map<std::string, Attribute>;

// A column of zeros before `from`.
std::vector<Operation> zero_before(const char* from, const char* to) {
  return {{"first", "slice", {"x"}, {"f"}, {{"dim", last}, {"end", std::int64_t{1}}}},
          {"zero", "full_like", {"f"}, {"z"}, {{"value", 0.0}}},
          {"join", "cat", {"z", from}, {to}, {{"dim", last}}}};
}

std::vector<Operation> joined(std::vector<std::vector<Operation>> parts) {
  std::vector<Operation> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<Operation> exclusive(const char* from, const char* to) {
  return joined({{cut(from, "b", "end", -1), cumsum("b", "c")}, zero_before("c", to)});
}

struct Row {
  const char* what;
  std::vector<Operation> operations;
  std::int64_t cols;
  std::vector<Values> values;
  Expr columns = "cols";  // of y
  std::vector<Expr> rows = {"rows"};
  DType type = DType::f32;
};

// Checks the kernel at these values, and that its plan is meant for the task's shape.
void check_meant(const Task& task, const Values& values) {
  const auto& device = virtual_h200().device();
  const auto templates = templates_of(builtin_families(), task);
  const Tunable* tunable = named(templates, task, "scan_rows");
  REQUIRE(tunable != nullptr);
  const auto source = instantiate(*tunable, task, device, values);
  REQUIRE(source);
  CHECK(PlanRequirements(*source, task, device).hold(task.time_shapes[0]));
  check_accepted(task, "scan_rows", values);
}

TEST_CASE("scans of shifted, turned and cut rows are one kernel", "[hooks][threads]") {
  const Values one = {{"THREADS", 64}, {"ITEMS", 2}};
  const Values wide = {{"THREADS", 64}, {"VECTOR", 4}, {"ITEMS", 1}, {"AHEAD", 1}};
  const Values stays = {
      {"THREADS", 64}, {"VECTOR", 4}, {"ITEMS", 2}, {"BLOCKS_PER_SM", 1}, {"LOAD_HINT", 1}};
  const Values shared = {{"THREADS", 64}, {"VECTOR", 2}, {"ITEMS", 2}, {"IN_SHARED", 1}};
  const Values placed = {{"THREADS", 64}, {"VECTOR", 4}, {"ITEMS", 2}, {"STORE_HINT", 1}};
  const std::vector<Row> rows = {
      {"plain", {cumsum("x", "y")}, 151, {one}},
      {"several steps", {cumsum("x", "y")}, 1100, {wide, stays}},
      {"exclusive", exclusive("x", "y"), 1100, {wide, stays}},
      {"exclusive, odd", exclusive("x", "y"), 151, {one}},
      {"exclusive of a batch", exclusive("x", "y"), 36, {wide}, "cols", {"rows", "2"}},
      {"exclusive, narrow",
       exclusive("x", "y"),
       1040,
       {{{"THREADS", 64}, {"VECTOR", 8}}},
       "cols",
       {"rows"},
       DType::bf16},
      {"turned", {flip("x", "t"), cumsum("t", "c"), flip("c", "y")}, 1100, {wide, stays}},
      {"turned, odd", {flip("x", "t"), cumsum("t", "c"), flip("c", "y")}, 151, {one}},
      {"turned and exclusive",
       joined({{flip("x", "t")}, exclusive("t", "e"), {flip("e", "y")}}),
       300,
       {one, wide}},
      {"turned before alone", {flip("x", "t"), cumsum("t", "y")}, 152, {wide}},
      // Rows of x begin within a vector, those of y do not.
      {"from the second", {cut("x", "t", "start", 1), cumsum("t", "y")}, 301, {wide}, "cols - 1"},
      {"all but the last sum",
       {cumsum("x", "c"), cut("c", "y", "end", -1)},
       301,
       {wide},
       "cols - 1"},
      {"zero, then all",
       joined({{cumsum("x", "c")}, zero_before("c", "y")}),
       299,
       {wide},
       "cols + 1"},
      {"elements after the scan",
       {cumsum("x", "c"), flip("x", "t"), {"sum", "sub", {"c", "t"}, {"y"}}},
       300,
       {wide}},
      // Places that are read where a condition holds.
      {"joined before",
       joined({{cut("x", "t", "end", -1)}, zero_before("t", "p"), {cumsum("p", "y")}}),
       300,
       {wide}},
      {"padded before",
       {cut("x", "t", "end", -1),
        {"pad", "pad", {"t"}, {"p"}, {{"padding", Integers{1, 0}}}},
        cumsum("p", "y")},
       300,
       {wide}},
      // Places that are no neighbours of an output's own.
      {"rolled after",
       {cumsum("x", "c"),
        {"roll", "roll", {"c"}, {"y"}, {{"dims", Integers{last}}, {"shifts", Integers{5}}}}},
       300,
       {shared, placed}},
      {"from the third sum",
       {cumsum("x", "c"), cut("c", "y", "start", 2)},
       302,
       {shared, placed},
       "cols - 2"}};
  for (const Row& row : rows) {
    INFO(row.what);
    auto shape = row.rows, result = row.rows;
    shape.emplace_back("cols");
    result.push_back(row.columns);
    const auto task = graph_task({input("x", shape, row.type), output("y", result, row.type)},
                                 row.operations, {{"rows", 3}, {"cols", row.cols}},
                                 row.type == DType::f32 ? Precision::fp32_strict : Precision::bf16);
    REQUIRE(task);
    for (const Values& values : row.values) check_meant(*task, values);
  }
}

TEST_CASE("extremes and masked sums are scanned", "[hooks][threads]") {
  Tensor mask = input("mask", {"rows", "cols"}, DType::boolean);
  mask.fill.kind = FillKind::boolean;
  const std::vector<Tensor> plain = {input("x", {"rows", "cols"}), output("y", {"rows", "cols"})};
  auto masked = plain;
  masked.push_back(mask);
  const std::vector<std::pair<std::vector<Tensor>, std::vector<Operation>>> graphs = {
      {plain, {{"s", "cummax", {"x"}, {"y"}, {{"dim", last}}}}},
      {masked, {{"keep", "mul", {"x", "mask"}, {"k"}}, cumsum("k", "y")}}};
  for (const auto& [tensors, operations] : graphs) {
    INFO(operations[0].kind);
    const auto task = graph_task(tensors, operations, {{"rows", 3}, {"cols", 150}});
    REQUIRE(task);
    check_accepted(*task, "scan_rows", {{"THREADS", 64}, {"ITEMS", 1}});
    check_accepted(*task, "scan_rows",
                   {{"THREADS", 64}, {"VECTOR", 2}, {"AHEAD", 1}, {"BLOCKS_PER_SM", 1}});
  }
}

}  // namespace
}  // namespace cupilot
