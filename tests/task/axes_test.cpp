// Axes that are made of the numbers in a graph's shapes.
#include "task/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "support/graph.hpp"
#include "task/extents.hpp"
#include "task/rules/tidy.hpp"

namespace cupilot {
namespace {

using support::input;
using support::output;

Task numbered(std::vector<Tensor> tensors, std::vector<Operation> operations,
              std::vector<Repeat> repeats = {}) {
  Task task{.name = "graph", .family = "graph"};
  task.tensors = std::move(tensors);
  task.operations = std::move(operations);
  task.repeats = std::move(repeats);
  task.time_shapes = {{}};
  return task;
}

// Shapes with their axes, "d0 d1, d0 4": of a task whose numbers became axes.
std::string shapes_of(Task task) {
  Task whole = task;
  const auto completed = complete(whole);
  if (!completed) return completed.error().message;
  if (!give_axes(task, whole)) return "none";
  std::string out;
  for (const Tensor& tensor : task.tensors) {
    std::vector<std::string> texts;
    for (const Expr& extent : tensor.shape) texts.push_back(extent.text);
    out += (out.empty() ? "" : ", ") + fmt::format("{}", fmt::join(texts, " "));
    const auto before = shape_of(whole, *find_tensor(whole, tensor.name), whole.time_shapes[0]);
    const auto after = shape_of(task, tensor, task.time_shapes[0]);
    CHECK((before && after && before->extents == after->extents));
  }
  return out;
}

using Ints = std::vector<std::int64_t>;

TEST_CASE("numbers that must be equal share an axis", "[axes]") {
  struct Row {
    Task task;
    const char* shapes;
  };
  const auto row = GENERATE(values<Row>({
      {numbered(
           {input("x", {64, 64}), input("w", {64, 64}), input("b", {64}), output("y", {64, 64})},
           {{"one", "linear", {"x", "w", "b"}, {"y"}}}),
       "d0 d1, d2 d1, d2, d0 d2"},
      {numbered({input("x", {8, 1, 32}), input("b", {16, 32}), output("y", {8, 16, 32})},
                {{"one", "add", {"x", "b"}, {"y"}}}),
       "d0 1 d1, d2 d1, d0 d2 d1"},
      // Batches of two matrices, of which one has none.
      {numbered({input("a", {4, 8, 16}), input("b", {16, 8}), output("y", {4, 8, 8})},
                {{"one", "matmul", {"a", "b"}, {"y"}}}),
       "d0 d1 d2, d2 d3, d0 d1 d3"},
      // A mask that is read at the places of scores.
      {numbered({input("q", {2, 4, 8}), input("k", {2, 4, 8}), input("v", {2, 4, 8}),
                 input("m", {4, 4}), output("y", {2, 4, 8})},
                {{"one", "attention", {"q", "k", "v", "m"}, {"y"}}}),
       "d0 d1 d2, d0 d3 d2, d0 d3 d4, d1 d3, d0 d1 d4"},
      {numbered({input("x", {8, 16}), input("w", {16}), output("y", {8, 16})},
                {{"one", "layer_norm", {"x", "w"}, {"y"}}}),
       "d0 d1, d1, d0 d1"},
      // Groups and their width are axes.
      {numbered({input("x", {2, 12, 5}), input("w", {12}), output("y", {2, 12, 5})},
                {{"one", "group_norm", {"x", "w"}, {"y"}, {{"groups", std::int64_t{4}}}}}),
       "d0 d1*d2 d3, d1*d2, d0 d1*d2 d3"},
      {numbered({input("x", {2, 4, 5}), output("y", {2, 4, 5})},
                {{"one", "group_norm", {"x"}, {"y"}, {{"groups", std::int64_t{4}}}}}),
       "d0 d1 d2, d0 d1 d2"},
      // Windows keep theirs; what they leave is told by what they slide over.
      {numbered({input("x", {2, 4, 16}), input("w", {6, 4, 3}), input("z", {2, 6, 14}),
                 output("y", {2, 6, 14})},
                {{"conv", "conv1d", {"x", "w"}, {"h"}}, {"sum", "add", {"h", "z"}, {"y"}}}),
       "d0 d1 d2, d3 d1 3, d0 d3 d2 - 2, d0 d3 d2 - 2"},
      {numbered({input("x", {2, 4, 16}), input("w", {4, 2, 3}), output("y", {2, 4, 14})},
                {{"conv", "conv1d", {"x", "w"}, {"y"}, {{"groups", std::int64_t{2}}}}}),
       "d0 d1*d2 d3, d1*d4 d2 3, d0 d1*d4 d3 - 2"},
      {numbered({input("x", {4, 6}), input("z", {3, 6}), output("y", {7, 6})},
                {support::cat("one", {"x", "z"}, "y", 0)}),
       "d0 d1, d2 d1, d0 + d2 d1"},
      {numbered({input("x", {4, 6}), input("z", {4, 6}), output("y", {2, 4, 6})},
                {{"one", "stack", {"x", "z"}, {"y"}}}),
       "d0 d1, d0 d1, 2 d0 d1"},
      {numbered({input("x", {4, 6}), input("z", {6, 6}), output("y", {4, 6})},
                {{"one", "einsum", {"x", "z"}, {"y"}, {{"equation", std::string("ij,jk->ik")}}}}),
       "d0 d1, d1 d2, d0 d2"},
  }));
  CHECK(shapes_of(row.task) == row.shapes);
}

TEST_CASE("shapes that operations are told follow their axes", "[axes]") {
  const Ints heads = {2, 3, 4, 5}, unknown = {2, 3, -1}, odd = {3, 2, 20};
  struct Row {
    Task task;
    const char *shapes, *told;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {numbered({input("x", {2, 3, 20}), output("y", {2, 3, 4, 5})},
                {{"one", "reshape", {"x"}, {"y"}, {{"shape", heads}}}}),
       "d0 d1 d2*d3, d0 d1 d2 d3", "d0, d1, d2, d3"},
      {numbered({input("x", {2, 3, 4, 5}), input("w", {6, 20}), output("y", {2, 3, 6})},
                {{"one", "reshape", {"x"}, {"h"}, {{"shape", unknown}}},
                 {"two", "linear", {"h", "w"}, {"y"}}}),
       "d0 d1 d2 d3, d4 d2*d3, d0 d1 d4", "d0, d1, d2*d3"},
      // Batches and heads that become one dimension, of which widths are the rest.
      {numbered({input("x", {5, 2, 12}), output("y", {5, 6, 4})},
                {{"one", "reshape", {"x"}, {"y"}, {{"shape", Ints{5, 6, 4}}}}}),
       "d0 d1 d2*d3, d0 d1*d2 d3", "d0, d1*d2, d3"},
      // Elements that come into another order keep their numbers.
      {numbered({input("x", {2, 3, 20}), output("y", {3, 2, 20})},
                {{"one", "reshape", {"x"}, {"y"}, {{"shape", odd}}}}),
       "2 3 d0, 3 2 d0", "3, 2, d0"},
      {numbered({input("x", {20, 7}), output("y", {4, 5, 7})},
                {{"one",
                  "unflatten",
                  {"x"},
                  {"y"},
                  {{"dim", std::int64_t{0}}, {"shape", Ints{4, -1}}}}}),
       "d0*d1 d2, d0 d1 d2", "d0, d1"},
      {numbered({input("x", {2, 3, 4}), input("w", {6, 12}), output("y", {2, 6})},
                {{"one", "flatten", {"x"}, {"h"}, {{"start_dim", std::int64_t{1}}}},
                 {"two", "linear", {"h", "w"}, {"y"}}}),
       "d0 d1 d2, d3 d1*d2, d0 d3", ""},
      {numbered({input("x", {1, 3}), input("z", {8, 3}), output("y", {8, 3})},
                {{"one", "expand", {"x"}, {"h"}, {{"shape", Ints{8, -1}}}},
                 {"two", "mul", {"h", "z"}, {"y"}}}),
       "1 d0, d1 d0, d1 d0", "d1, -1"},
  }));
  CHECK(shapes_of(row.task) == row.shapes);
  Task task = row.task, whole = row.task;
  REQUIRE(complete(whole));
  REQUIRE(give_axes(task, whole));
  const auto told = task.operations[0].attributes.find("shape");
  const auto* text = told == task.operations[0].attributes.end()
                         ? nullptr
                         : std::get_if<std::string>(&told->second);
  CHECK((text == nullptr ? "" : *text) == row.told);
}

TEST_CASE("numbers that attributes count places by stay", "[axes]") {
  const std::int64_t one = 1;
  Tensor table = input("x", {10, 8}), index = input("i", {3}, DType::i64);
  index.fill = {.kind = FillKind::integers, .below = 10};
  Tensor free_index = index;
  free_index.fill.below = 7;
  Tensor strided = input("x", {4, 6});
  strided.strides = {8, 1};
  struct Row {
    Task task;
    const char* shapes;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {numbered({input("x", {4, 6}), output("y", {4, 4})},
                {{"one", "slice", {"x"}, {"y"}, {{"dim", one}, {"end", std::int64_t{4}}}}}),
       "d0 6, d0 4"},
      {numbered({input("x", {4, 6}), output("y", {4, 4})},
                {{"one", "slice", {"x"}, {"y"}, {{"dim", one}, {"start", std::int64_t{-4}}}}}),
       "d0 6, d0 4"},
      {numbered({input("x", {4, 6}), output("y", {4})},
                {{"one", "select", {"x"}, {"y"}, {{"dim", one}, {"index", std::int64_t{3}}}}}),
       "d0 6, d0"},
      {numbered({input("x", {4, 6}), output("y", {4, 8})},
                {{"one",
                  "pad",
                  {"x"},
                  {"y"},
                  {{"padding", Ints{1, 1}}, {"mode", std::string("reflect")}}}}),
       "d0 6, d0 8"},
      {numbered({input("x", {4, 6}), output("y", {4, 8})},
                {{"one", "pad", {"x"}, {"y"}, {{"padding", Ints{1, 1}}}}}),
       "d0 d1, d0 d1 + 2"},
      // An index is below the axis that it names places of, or the axis stays.
      {numbered({table, index, output("y", {3, 8})}, {{"one", "embedding", {"x", "i"}, {"y"}}}),
       "d0 d1, d2, d2 d1"},
      {numbered({table, free_index, output("y", {3, 8})},
                {{"one", "embedding", {"x", "i"}, {"y"}}}),
       "10 d0, d1, d1 d0"},
      {numbered({strided, input("z", {4, 6}), output("y", {4, 6})},
                {{"one", "add", {"x", "z"}, {"y"}}}),
       "none"},
      // A step of a loop reads its place of x, and writes its place of y.
      {numbered({input("x", {5, 4}), input("h0", {4}), output("y", {5, 4})},
                {{"sum", "add", {"h", "x[t]"}, {"y[t]"}, {}, "loop"}},
                {{"loop", 5, "t", {{"h", "h0", "y[t]", ""}}}}),
       "5 d0, d0, 5 d0"},
  }));
  CHECK(shapes_of(row.task) == row.shapes);
}

TEST_CASE("factors of a product keep their order", "[axes]") {
  const std::vector<Expr> factors = {"2", "h", "w - 2", "b"};
  CHECK(factors_in("(2*h)*((w - 3) + 1)*(1*b)") == factors);
  CHECK(product_text(factors).text == "2*h*(w - 2)*b");
  CHECK(factors_in("1").empty());
  CHECK(product_text({}).text == "1");
  CHECK(product_text({"w - 2"}).text == "w - 2");
}

TEST_CASE("what windows of a stride leave comes back from one dimension", "[axes]") {
  const Task task = numbered({input("x", {2, 8, 6}), output("y", {2, 4, 3})},
                             {{"pool", "max_pool2d", {"x"}, {"p"}, {{"kernel_size", Ints{2, 2}}}},
                              {"flat", "reshape", {"p"}, {"f"}, {{"shape", Ints{2, -1}}}},
                              {"back", "reshape", {"f"}, {"y"}, {{"shape", Ints{2, 4, 3}}}}});
  CHECK(shapes_of(task) == "d0 d1 d2, d0 d1/2 d2/2");
}

TEST_CASE("slices that are equal parts follow an axis", "[axes]") {
  const std::int64_t one = 1;
  const auto part = [&](const char* name, std::int64_t number, const char* out) {
    return Operation{name,
                     "slice",
                     {"h"},
                     {out},
                     {{"dim", one}, {"start", 2 * number}, {"end", 2 * number + 2}}};
  };
  const Operation fused{"fused", "linear", {"x", "w"}, {"h"}, {}};
  const Task task =
      numbered({input("x", {5, 8}), input("w", {6, 8}), output("y", {5, 2})},
               {fused, part("q", 0, "a"), part("k", 1, "b"), {"sum", "add", {"a", "b"}, {"y"}}});
  CHECK(shapes_of(task) == "d0 d1, 3*d2 d1, d0 d2");
  Task made = task, whole = task;
  REQUIRE(complete(whole));
  REQUIRE(give_axes(made, whole));
  CHECK(made.operations[1].attributes ==
        Attributes{{"dim", one}, {"start", std::int64_t{0}}, {"length", std::string("d2")}});
  CHECK(made.operations[2].attributes ==
        Attributes{{"dim", one}, {"start", std::string("d2")}, {"length", std::string("d2")}});
  // The rest of a dimension, all of it, and its last place.
  CHECK(shapes_of(numbered(
            {input("x", {5, 8}), output("y", {5, 6})},
            {{"one", "slice", {"x"}, {"y"}, {{"dim", one}, {"start", std::int64_t{2}}}}})) ==
        "d0 d1, d0 d1 - 2");
  CHECK(shapes_of(numbered({input("x", {5, 8}), output("y", {5, 8})},
                           {{"one", "slice", {"x"}, {"y"}, {{"dim", one}}}})) == "d0 d1, d0 d1");
  CHECK(shapes_of(numbered(
            {input("x", {5, 8}), output("y", {5})},
            {{"one", "select", {"x"}, {"y"}, {{"dim", one}, {"index", std::int64_t{-1}}}}})) ==
        "d0 d1, d0");
}

TEST_CASE("groups follow the channels that they divide", "[axes]") {
  const auto norm = [](const char* from, const char* to, std::int64_t groups) {
    return Operation{std::string("norm_") + to, "group_norm", {from}, {to}, {{"groups", groups}}};
  };
  const auto conv = [](std::int64_t groups) {
    return Operation{"conv", "conv1d", {"x", "w"}, {"h"}, {{"groups", groups}}};
  };
  const auto slice = [](std::int64_t end) {
    return Operation{
        "cut", "slice", {"x"}, {"h"}, {{"dim", std::int64_t{1}}, {"start", end - 5}, {"end", end}}};
  };
  struct Row {
    Task task;
    const char *shapes, *groups;
  };
  const auto row = GENERATE_COPY(values<Row>({
      // A channel a group: x and the weight have as many, one channel each.
      {numbered({input("x", {2, 6, 9}), input("w", {6, 1, 3}), output("h", {2, 6, 7})}, {conv(6)}),
       "d0 d1 d2, d1 1 3, d0 d1 d2 - 2", "d1"},
      {numbered({input("x", {2, 6, 9}), input("w", {18, 1, 3}), output("h", {2, 18, 7})},
                {conv(6)}),
       "d0 d1 d2, d1*d3 1 3, d0 d1*d3 d2 - 2", "d1"},
      {numbered({input("x", {2, 6, 9}), input("w", {6, 3, 3}), output("h", {2, 6, 11})},
                {{"conv", "conv_transpose1d", {"x", "w"}, {"h"}, {{"groups", std::int64_t{2}}}}}),
       "d0 d1*d2 d3, d1*d2 d4 3, d0 d1*d4 d3 + 2", "d1"},
      // No groups at all.
      {numbered({input("x", {2, 6, 9}), input("w", {4, 6, 3}), output("h", {2, 4, 7})}, {conv(1)}),
       "d0 d1 d2, d3 d1 3, d0 d3 d2 - 2", "1"},
      // Groups of the same channels: as many, fewer, more, and of no common factor.
      {numbered({input("x", {2, 12, 5}), output("y", {2, 12, 5})},
                {norm("x", "h", 4), norm("h", "y", 4)}),
       "d0 d1*d2 d3, d0 d1*d2 d3", "d1, d1"},
      {numbered({input("x", {2, 12, 5}), output("y", {2, 12, 5})},
                {norm("x", "h", 4), norm("h", "y", 2)}),
       "d0 d1*d2*d3 d4, d0 d1*d2*d3 d4", "d1*d2, d1"},
      {numbered({input("x", {2, 12, 5}), output("y", {2, 12, 5})},
                {norm("x", "h", 2), norm("h", "y", 4)}),
       "d0 d1*d2*d3 d4, d0 d1*d2*d3 d4", "d1, d1*d2"},
      {numbered({input("x", {2, 12, 5}), output("y", {2, 12, 5})},
                {norm("x", "h", 3), norm("h", "y", 4)}),
       "d0 12 d1, d0 12 d1", "3, 4"},
      // Channels of which places are counted keep their number, and so do their groups.
      {numbered({input("x", {2, 12, 5}), output("y", {2, 5, 5})}, {slice(8), norm("h", "y", 5)}),
       "d0 12 d1, d0 5 d1", "5"},
  }));
  CHECK(shapes_of(row.task) == row.shapes);
  Task task = row.task, whole = row.task;
  REQUIRE(complete(whole));
  REQUIRE(give_axes(task, whole));
  std::string groups;
  for (const Operation& one : task.operations) {
    const auto found = one.attributes.find("groups");
    if (found == one.attributes.end()) continue;
    const auto* text = std::get_if<std::string>(&found->second);
    groups += groups.empty() ? "" : ", ";
    groups += text ? *text : fmt::format("{}", std::get<std::int64_t>(found->second));
  }
  CHECK(groups == row.groups);
}

TEST_CASE("groups that a text counts divide their channels at all sizes", "[axes]") {
  struct Row {
    const char *groups, *channels, *message;
  };
  const auto row = GENERATE(values<Row>({
      {"g", "g*w", ""},
      {"2*g", "4*g*w", ""},
      {"WIDE", "WIDE*w", ""},
      {"4", "4*w", ""},
      {"g", "g", ""},
      {"g", "w", "w channels are no product of g groups"},
      {"g*g", "g*w", "g*w channels are no product of g*g groups"},
      {"3*g", "4*g*w", "4*g*w channels are no product of 3*g groups"},
      {"NONE", "NONE*w + 15", "NONE*w + 15 channels are no product of NONE groups"},
      {"NONE", "NONE*w", "there are 0 groups, not 1"},
      {"h", "h*w", "'h'"},
      {"g +", "g*w", "g*w channels are no product of g + groups"},
  }));
  INFO(row.groups << " of " << row.channels);
  Task task =
      numbered({input("x", {"n", row.channels, 2}), output("y", {"n", row.channels, 2})},
               {{"one", "group_norm", {"x"}, {"y"}, {{"groups", std::string(row.groups)}}}});
  task.axes = {{"n"}, {"g"}, {"w", AxisKind::reduced}};
  task.constants = {{"WIDE", 4}, {"NONE", 0}};
  task.time_shapes = {{{{"n", 2}, {"g", 3}, {"w", 5}}}};
  auto done = complete(task);
  if (done) done = validate(task);
  CHECK((done ? "" : done.error().message).find(row.message) != std::string::npos);
  CHECK(bool(done) == (*row.message == '\0'));
}

TEST_CASE("a slice told by texts ends within its dimension", "[axes]") {
  for (const bool fits : {true, false}) {
    const auto task =
        support::graph_task({input("x", {"rows", "2*cols"}), output("y", {"rows", "cols"})},
                            {{"one",
                              "slice",
                              {"x"},
                              {"y"},
                              {{"dim", std::int64_t{1}},
                               {"start", std::string(fits ? "cols" : "cols + 1")},
                               {"length", std::string("cols")}}}},
                            {{"rows", 3}, {"cols", 5}});
    CHECK(bool(task) == fits);
    if (!fits)
      CHECK_THAT(task.error().message, Catch::Contains("the slice ends within 11 elements"));
  }
}

TEST_CASE("axes of numbers are named apart, summed over, and their work follows", "[axes]") {
  Task task = numbered({input("d0", {16, 8}), input("w", {4, 8}), output("y", {16, 4})},
                       {{"one", "linear", {"d0", "w"}, {"d2"}}, {"two", "softmax", {"d2"}, {"y"}}});
  Task whole = task;
  REQUIRE(complete(whole));
  REQUIRE(give_axes(task, whole));
  std::string axes;
  for (const Axis& axis : task.axes)
    axes += axis.name + (axis.kind == AxisKind::reduced ? "(reduced) " : " ");
  CHECK(axes == "d1 d3(reduced) d4(reduced) ");
  CHECK(*textbook_flops(task, task.time_shapes[0]) == *textbook_flops(whole, whole.time_shapes[0]));
  const Workload small{{{"d1", 2}, {"d3", 3}, {"d4", 5}}};
  CHECK(has_sizes(task, small));
  CHECK(*textbook_flops(task, small) < *textbook_flops(whole, whole.time_shapes[0]));
  CHECK(find_tensor(task, "y")->check.length.text != find_tensor(whole, "y")->check.length.text);
}

// A task file as an export writes it.
std::string file(const std::string& axes, const std::string& reference = "") {
  return R"({"cupilot_task": 2, "name": "scaled", )" + axes + R"("precision": "fp32-strict",
    "tensors": [{"name": "x", "role": "in", "type": "fp32", "shape": [64, 32]},
                {"name": "y", "role": "out", "type": "fp32", "shape": [64, 32]}],
    "operations": [{"name": "one", "op": "relu", "in": ["x"], "out": ["y"]}])" +
         reference + "}";
}

TEST_CASE("a file without axes has those of its numbers, one with none keeps them", "[axes]") {
  const auto made = task_from_json(file(""), "made");
  REQUIRE(made);
  CHECK(made->axes.size() == 2);
  CHECK(made->time_shapes[0].sizes == Sizes{{"d0", 64}, {"d1", 32}});
  const auto kept = task_from_json(file(R"("axes": [], "time_shapes": [{"sizes": {}}], )"), "kept");
  REQUIRE(kept);
  CHECK(kept->axes.empty());
  CHECK(task_id(*made) != task_id(*kept));
  // What a journal holds is the task that was searched.
  for (const auto& task : {made, kept}) {
    const auto text = task_to_json(*task);
    REQUIRE(text);
    const auto again = task_from_json(*text, "again");
    REQUIRE(again);
    CHECK(task_id(*again) == task_id(*task));
    CHECK(again->axes.size() == task->axes.size());
  }
  const auto given = task_from_json(
      file(
          "",
          R"(, "reference_text": "__device__ real reference_y(const Inputs& in, long long i) { return in.x(i); }")"),
      "given");
  REQUIRE_FALSE(given);
  CHECK_THAT(given.error().message, Catch::Contains("axes"));
  const auto sized = task_from_json(file(R"("time_shapes": [{"sizes": {"n": 3}}], )"), "sized");
  CHECK_FALSE(sized);
}

}  // namespace
}  // namespace cupilot
