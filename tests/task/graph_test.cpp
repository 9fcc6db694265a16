// Graphs of operations that cannot be: named with the operation and the reason.
#include "support/graph.hpp"
#include "catch.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

const std::vector<Tensor> tensors = {input("x", {"rows", "cols"}), input("b", {"cols"}),
                                     input("w", {"cols", "cols"}), output("y", {"rows", "cols"})};

TEST_CASE("a graph that cannot be is refused with operation and reason", "[graph]") {
  struct Row {
    std::vector<Operation> operations;
    const char* message;
  };
  const auto row = GENERATE(values<Row>({
      {{{"one", "gelo", {"x"}, {"y"}}}, "operation 'one' (gelo): is no operator that is known"},
      {{{"one", "gemm", {"x", "w"}, {"y"}}}, "has no stages"},
      {{{"one", "atan2", {"x"}, {"y"}}}, "input b is missing"},
      {{{"one", "relu", {"x", "b"}, {"y"}}}, "takes 1 inputs, not 2"},
      {{{"one", "relu", {"z"}, {"y"}}}, "'z' is no tensor and no output of an earlier operation"},
      // An edge before it is written.
      {{{"one", "relu", {"h"}, {"y"}}, {"two", "relu", {"x"}, {"h"}}}, "'h' is no tensor"},
      {{{"one", "relu", {"x"}, {}}}, "gives 1 outputs"},
      {{{"one", "relu", {"x"}, {"y", "z"}}}, "gives 1 outputs"},
      {{{"one", "relu", {"x"}, {"y"}, {{"slope", 0.5}}}}, "has no attribute 'slope'"},
      {{{"one", "einsum", {"x", "w"}, {"y"}}}, "attribute 'equation' is missing"},
      {{{"one", "einsum", {"x", "w"}, {"y"}, {{"equation", std::string("ij,jk")}}}}, "no ->"},
      {{{"one", "einsum", {"x", "w"}, {"y"}, {{"equation", std::string("ij,ik->jk")}}}},
       "'i' is rows and cols"},
      {{{"one", "matmul", {"x", "b"}, {"y"}}}, "gives 'y' the shape 3, but the tensor is 3 x 5"},
      {{{"one", "matmul", {"w", "x"}, {"y"}}}, "inner extents cols and rows differ"},
      {{{"one", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{2}}}}}, "dimension 2 of 2"},
      {{{"one", "add", {"x", "y"}, {"y"}}}, "'y' is no tensor"},
      {{{"one", "relu", {"x"}, {"b"}}}, "writes the input 'b'"},
      {{{"one", "relu", {"x"}, {"y"}}, {"two", "relu", {"x"}, {"y"}}}, "'y' is written twice"},
      {{{"one", "relu", {"x"}, {"h"}}, {"one", "relu", {"h"}, {"y"}}},
       "two operations have this name"},
      {{{"one", "relu", {"x"}, {"rows"}}}, "'rows' is an axis"},
      {{{"one", "relu", {"x"}, {"2h"}}}, "'2h' is not a name"},
      {{{"a b", "relu", {"x"}, {"y"}}}, "its name is none"},
  }));
  const auto task = graph_task(tensors, row.operations, {{"rows", 3}, {"cols", 5}});
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
  CHECK_FALSE(task.error().hint.empty());
}

TEST_CASE("places outside of what is read are refused with operation and reason", "[graph]") {
  struct Row {
    Operation operation;
    ExprShape shape;
    DType index;
    Fill fill;
    const char* message;
  };
  const std::vector<std::int64_t> two = {2, 2}, four = {4, 4}, ten = {4, 10};
  const Fill places{.kind = FillKind::labels, .below = "cols"};
  const Attributes along = {{"dim", std::int64_t{1}}};
  const auto row = GENERATE_COPY(values<Row>({
      {{"one", "gather", {"x", "j"}, {"y"}, along}, {"rows", "cols"}, DType::i64, places, ""},
      {{"one", "gather", {"x", "j"}, {"y"}, along},
       {"rows", "cols"},
       DType::f32,
       {},
       "the index 'j' has the type fp32"},
      {{"one", "gather", {"x", "j"}, {"y"}, along},
       {"rows", "cols"},
       DType::i64,
       {.kind = FillKind::labels, .below = "cols + 1"},
       "'below' of index is 6 at most"},
      {{"one", "select", {"x"}, {"y"}, {{"dim", std::int64_t{0}}, {"index", std::int64_t{3}}}},
       {"cols"},
       DType::i64,
       places,
       "index 3 asks for a dimension of 4"},
      {{"one", "slice", {"x"}, {"y"}, {{"dim", std::int64_t{1}}, {"end", std::int64_t{6}}}},
       {"rows", 6},
       DType::i64,
       places,
       "the slice ends within 6"},
      {{"one", "pad", {"x"}, {"y"}, {{"padding", two}, {"mode", std::string("reflect")}}},
       {"rows", "cols + 4"},
       DType::i64,
       places,
       ""},
      {{"one",
        "pad",
        {"x"},
        {"y"},
        {{"padding", std::vector<std::int64_t>{5, 0}}, {"mode", std::string("reflect")}}},
       {"rows", "cols + 5"},
       DType::i64,
       places,
       "asks for a dimension of 6"},
      {{"one", "reshape", {"x"}, {"y"}, {{"shape", ten}}},
       {4, 10},
       DType::i64,
       places,
       "the shape takes 40 elements, not 15"},
  }));
  const auto task = graph_task({input("x", {"rows", "cols"}),
                                {.name = "j",
                                 .role = Role::in,
                                 .type = row.index,
                                 .shape = {"rows", "cols"},
                                 .fill = row.fill},
                                output("y", row.shape)},
                               {row.operation}, {{"rows", 3}, {"cols", 5}});
  INFO((task ? "" : task.error().message));
  CHECK(static_cast<bool>(task) == (std::string(row.message).empty()));
  if (!task) CHECK_THAT(task.error().message, Catch::Contains(row.message));
}

TEST_CASE("attributes that no operator takes are refused with the operation", "[graph]") {
  struct Row {
    Operation operation;
    const char* message;
  };
  const std::vector<std::int64_t> twice = {1, -1}, shifts = {1, 2};
  const auto row = GENERATE_COPY(values<Row>({
      {{"one", "flip", {"x"}, {"y"}, {{"dims", twice}}}, "'dims' names dimension -1 twice"},
      {{"one", "roll", {"x"}, {"y"}, {{"dims", twice}, {"shifts", shifts}}}, "twice"},
      {{"one", "sum", {"x"}, {"y"}, {{"dim", twice}}}, "'dim' names dimension -1 twice"},
      {{"one", "slice", {"x"}, {"y"}, {{"step", std::int64_t{-1}}}}, "'step' is -1, below 1"},
      {{"one", "layer_norm", {"x"}, {"y"}, {{"dims", std::int64_t{0}}}}, "'dims' is 0, below 1"},
      {{"one", "max_pool1d", {"x"}, {"y"}, {{"kernel_size", std::int64_t{0}}}}, "below 1"},
      {{"one",
        "max_pool1d",
        {"x"},
        {"y"},
        {{"kernel_size", std::int64_t{3}}, {"padding", std::int64_t{-1}}}},
       "'padding' is -1, below 0"},
      {{"one", "group_norm", {"x"}, {"y"}, {{"groups", std::int64_t{0}}}}, "'groups' is 0"},
      {{"one", "dropout", {"x", "x"}, {"y"}, {{"p", 2.0}}}, "'p' is 2, no share"},
  }));
  const auto task = graph_task(tensors, {row.operation}, {{"rows", 3}, {"cols", 5}});
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
}

TEST_CASE("a largest number that is no attribute's own is that of the input's type", "[graph]") {
  const auto constants = [](DType type, Attributes attributes) {
    auto x = input("x", {"rows", "cols"});
    x.type = type;
    const auto task = graph_task({x, output("y", {"rows", "cols"})},
                                 {{"one", "nan_to_num", {"x"}, {"y"}, std::move(attributes)}},
                                 {{"rows", 3}, {"cols", 5}});
    REQUIRE(task);
    std::map<std::string, double> out;
    for (const auto& [name, text] : task->reference.stages.at(0).constants) {
      const auto from = text.find_first_of("-0123456789");
      out[name] = std::stod(text.substr(from));
    }
    return out;
  };
  CHECK(constants(DType::f32, {}).at("posinf") == 0x1.FFFFFEp127);
  CHECK(constants(DType::f16, {}).at("neginf") == -65504.0);
  CHECK(constants(DType::f32, {{"posinf", 7.0}}).at("posinf") == 7.0);
}

TEST_CASE("an output without dimensions is named so", "[graph]") {
  const auto task = graph_task({input("x", {"rows", "cols"}), output("l", {})},
                               {{"one", "mean", {"x"}, {"l"}}}, {{"rows", 3}, {"cols", 5}});
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains("the tensor is of no dimension"));
}

TEST_CASE("a mistyped attribute is told the one that was probably meant", "[graph]") {
  const auto hint = [](const char* kind, const char* attribute) {
    const Operation one{"one", kind, {"x"}, {"y"}, {{attribute, std::int64_t{1}}}};
    return graph_task(tensors, {one}, {{"rows", 3}, {"cols", 5}}).error().hint;
  };
  CHECK(hint("softmax", "dime") == "did you mean dim? softmax takes dim");
  CHECK(hint("sum", "keepdims") == "did you mean keepdim? sum takes dim, keepdim");
  CHECK(hint("sum", "unbiased") == "sum takes dim, keepdim");
  CHECK(hint("relu", "slope") == "relu takes none");
}

TEST_CASE("a mistyped operator is told the one that was probably meant", "[graph]") {
  const auto hint = [](const char* kind) {
    return graph_task(tensors, {{"one", kind, {"x"}, {"y"}}}, {{"rows", 3}, {"cols", 5}})
        .error()
        .hint;
  };
  CHECK_THAT(hint("gelo"), Catch::Contains("did you mean gelu? `cupilot operators`"));
  CHECK(hint("qqqq").find("did you mean") == std::string::npos);
}

TEST_CASE("edges have the shapes that operations give", "[graph]") {
  const auto task =
      graph_task(tensors,
                 {{"fc", "matmul", {"x", "w"}, {"h"}},
                  {"total",
                   "sum",
                   {"h"},
                   {"t"},
                   {{"dim", std::vector<std::int64_t>{1}}, {"keepdim", std::int64_t{1}}}},
                  {"shift", "add", {"h", "t"}, {"y"}}},
                 {{"rows", 3}, {"cols", 5}});
  if (!task) FAIL(task.error().message);
  REQUIRE(task->edges.size() == 2);
  CHECK(task->edges[0].name == "h");
  CHECK(task->edges[0].shape == std::vector<Expr>{"rows", "cols"});
  CHECK(task->edges[1].shape == std::vector<Expr>{"rows", 1});
  // A sum of sums: the longer one counts.
  CHECK(task->tensors[3].check.length.text == "cols");
  CHECK(*textbook_flops(*task, task->time_shapes[0]) == 2 * 3 * 5 * 5 + 15 + 15);
}

TEST_CASE("vectors and groups fit what they are read with", "[graph]") {
  struct Row {
    const char* op;
    std::vector<Expr> weight, bias;
    Attributes attributes;
    const char* message;
  };
  const std::int64_t three = 3;
  const auto row = GENERATE_COPY(values<Row>({
      {"conv2d", {6, 4, 3, 3}, {2}, {}, "bias has 2 elements, not 6"},
      {"conv2d", {6, 2, 3, 3}, {}, {}, "the weight takes 2 channels of x, not 4"},
      {"conv2d", {6, 1, 3, 3}, {}, {{"groups", three}}, "3 groups of the weight take 3 channels"},
      {"conv_transpose2d", {2, 6, 3, 3}, {}, {}, "the weight takes 2 channels of x, not 4"},
      {"linear", {6, 8}, {2}, {}, "bias has 2 elements, not 6"},
      {"layer_norm", {4}, {}, {}, "weight has 4 elements, not 8"},
      {"group_norm", {8}, {}, {{"groups", std::int64_t{2}}}, "weight has 8 elements, not 4"},
      {"group_norm", {4}, {}, {{"groups", three}}, "3 groups take 3 channels, not 4"},
      {"batch_norm_train", {8}, {}, {}, "weight has 8 elements, not 4"},
      {"batch_norm_train", {1}, {}, {}, "weight has 1 elements, not 4"},
  }));
  INFO(row.op << ": " << row.message);
  std::vector<Tensor> given = {input("x", {"n", 4, 8, 8}), input("weight", row.weight),
                               output("y", {"n"})};
  std::vector<std::string> inputs = {"x", "weight"};
  if (!row.bias.empty()) given.push_back(input("b", row.bias)), inputs.emplace_back("b");
  const auto task = graph_task(given, {{"one", row.op, inputs, {"y"}, row.attributes}}, {{"n", 2}});
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
}

// A convolution whose padding keeps the places, and what is added to it, as in a residual net.
TEST_CASE("extents that say the same are alike", "[graph]") {
  const Attributes same = {{"padding", std::int64_t{1}}};
  const Attributes twice = {{"stride", std::int64_t{2}},
                            {"padding", std::int64_t{1}},
                            {"output_padding", std::int64_t{1}}};
  const auto task = graph_task(
      {input("x", {"n", 4, "h", "w"}), input("weight", {4, 4, 3, 3}),
       output("y", {"n", 4, "h", "w"})},
      {{"conv", "conv2d", {"x", "weight"}, {"c"}, same}, {"add", "add", {"c", "x"}, {"y"}}},
      {{"n", 2}, {"h", 8}, {"w", 9}});
  if (!task) FAIL(task.error().message);
  CHECK(task->edges[0].shape == std::vector<Expr>{"n", 4, "h", "w"});
  const auto wide =
      graph_task({input("x", {"n", 4, "h", "w"}), input("weight", {4, 4, 3, 3}),
                  input("r", {"n", 4, "2*h", "w*2"}), output("y", {"n", 4, "2*h", "2*w"})},
                 {{"conv", "conv_transpose2d", {"x", "weight"}, {"c"}, twice},
                  {"add", "add", {"c", "r"}, {"y"}}},
                 {{"n", 2}, {"h", 8}, {"w", 9}});
  if (!wide) FAIL(wide.error().message);
}

TEST_CASE("an output of a wrong shape is told the right one", "[graph]") {
  const auto task =
      graph_task({input("x", {"n", 4, "h", "w"}), input("weight", {6, 4, 3, 5}),
                  output("y", {"n", 6, "h", "w"})},
                 {{"conv", "conv2d", {"x", "weight"}, {"y"}}}, {{"n", 2}, {"h", 8}, {"w", 9}});
  REQUIRE_FALSE(task);
  CHECK_THAT(task.error().hint, Catch::Contains(R"(["n", "6", "h - 2", "w - 4"])"));
}

// A net of 60 layers: its work and its extents stay expressions that can be read.
TEST_CASE("a deep graph of windows can be said", "[graph]") {
  std::vector<Tensor> given = {input("x", {"n", 4, "h", "w"}), input("weight", {4, 4, 3, 3}),
                               output("y", {"n", 1})};
  std::vector<Operation> operations;
  std::string at = "x";
  for (int layer = 0; layer < 60; ++layer) {
    const std::string name = "c" + std::to_string(layer);
    const std::int64_t stride = layer % 10 == 0 ? 2 : 1;
    operations.push_back({name,
                          "conv2d",
                          {at, "weight"},
                          {name},
                          {{"stride", stride}, {"padding", std::int64_t{1}}}});
    // Sums of many lengths.
    const std::string line = "s" + std::to_string(layer);
    given.push_back(output(line.c_str(), {"n", 4, 1, 1}));
    operations.push_back(
        {line,
         "sum",
         {name},
         {line},
         {{"dim", std::vector<std::int64_t>{2, 3}}, {"keepdim", std::int64_t{1}}}});
    at = name;
  }
  operations.push_back({"last", "sum", {at}, {"t"}, {{"dim", std::vector<std::int64_t>{1, 2, 3}}}});
  operations.push_back({"out", "unsqueeze", {"t"}, {"y"}, {{"dim", std::int64_t{1}}}});
  const auto task = graph_task(given, operations, {{"n", 2}, {"h", 128}, {"w", 192}});
  if (!task) FAIL(task.error().message);
  const auto flops = evaluate_or_error(task->work.flops, task_scope(*task, task->time_shapes[0]));
  if (!flops) FAIL(flops.error().message);
  double want = 0;
  std::int64_t h = 128, w = 192;
  for (int layer = 0; layer < 60; ++layer) {
    if (layer % 10 == 0) h /= 2, w /= 2;
    want += 2.0 * 2 * 4 * 4 * 9 * static_cast<double>(h * w) + 2.0 * 4 * static_cast<double>(h * w);
  }
  want += 2.0 * 4 * static_cast<double>(h * w);
  CHECK(static_cast<double>(*flops) == want);
}

TEST_CASE("a graph comes back from JSON as it was", "[graph]") {
  const auto task = graph_task(tensors,
                               {{"soft", "softmax", {"x"}, {"p"}, {{"dim", std::int64_t{-1}}}},
                                {"half", "add", {"p", "b"}, {"y"}, {{"alpha", 0.25}}}},
                               {{"rows", 3}, {"cols", 5}});
  REQUIRE(task);
  const auto json = task_to_json(*task);
  REQUIRE(json);
  const auto back = task_from_json(*json, "again");
  if (!back) FAIL(back.error().message);
  CHECK(task_id(*back) == task_id(*task));
  CHECK(back->reference.stages == task->reference.stages);
  CHECK(back->edges.size() == 1);
  CHECK(*task_to_json(*back) == *json);
}

TEST_CASE("a text beside operations with attributes comes back from JSON", "[graph]") {
  Task task = *graph_task(tensors, {{"soft", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{1}}}}},
                          {{"rows", 3}, {"cols", 5}});
  task.tensors = {tensors[0], tensors[3]};
  task.reference = {
      "__device__ real reference_y(const Inputs& in, long long i) { return in.x(i); }",
      "own.cu",
      {}};
  const auto json = task_to_json(task);
  REQUIRE(json);
  const auto back = task_from_json(*json, "again");
  if (!back) FAIL(back.error().message);
  CHECK(task_id(*back) == task_id(task));
}

}  // namespace
}  // namespace cupilot
