// Work of operators against counts by hand: a multiply-add is two operations.
#include <numeric>

#include "catch.hpp"
#include "task/operators.hpp"
#include "task/prepared.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

struct Counted {
  const char* op;
  Shapes in, out;
  Attributes attributes;
  std::int64_t flops;
};

std::int64_t elements(const Shapes& shapes) {
  std::int64_t sum = 0;
  for (const auto& shape : shapes)
    sum += std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return sum;
}

Task task_of(const Counted& row) {
  Task task;
  task.name = row.op;
  task.axes = {{"one", AxisKind::free}};
  task.time_shapes = {{.sizes = {{"one", 1}}}};
  Operation operation{.name = "op", .kind = row.op, .attributes = row.attributes};
  const auto add = [&](const Shapes& shapes, Role role, std::vector<std::string>& names) {
    for (const auto& shape : shapes) {
      Tensor tensor{.name = (role == Role::in ? "in" : "out") + std::to_string(names.size()),
                    .role = role};
      for (const std::int64_t extent : shape) tensor.shape.emplace_back(extent);
      names.push_back(tensor.name);
      task.tensors.push_back(std::move(tensor));
    }
  };
  add(row.in, Role::in, operation.inputs);
  add(row.out, Role::out, operation.outputs);
  task.operations = {operation};
  return task;
}

using List = std::vector<std::int64_t>;
using Word = std::string;
constexpr std::int64_t one = 1;

TEST_CASE("work and bytes of operators are those counted by hand", "[operators]") {
  const Counted row = GENERATE(from_range(std::vector<Counted>{
      {"relu", {{4, 5}}, {{4, 5}}, {}, 20},
      {"add", {{4, 5}, {5}}, {{4, 5}}, {}, 20},
      {"mul", {{4, 5}}, {{4, 5}}, {{"other", 2.0}}, 20},
      {"sigmoid", {{7}}, {{7}}, {}, 28},
      {"gelu", {{7}}, {{7}}, {}, 35},
      {"hardtanh", {{7}}, {{7}}, {}, 14},
      {"where", {{6}, {6}, {6}}, {{6}}, {}, 6},
      {"lerp", {{6}, {6}, {6}}, {{6}}, {}, 18},
      {"identity", {{6}}, {{6}}, {}, 0},
      {"prelu", {{2, 3, 4}, {3}}, {{2, 3, 4}}, {}, 48},
      {"matmul", {{3, 4}, {4, 5}}, {{3, 5}}, {}, 2 * 3 * 4 * 5},
      {"matmul", {{6, 3, 4}, {4, 5}}, {{6, 3, 5}}, {}, 2 * 6 * 3 * 4 * 5},
      {"matmul", {{4}, {4}}, {{1}}, {}, 8},
      {"addmm", {{3, 4}, {4, 5}, {5}}, {{3, 5}}, {}, 2 * 60 + 3 * 15},
      {"linear", {{2, 3, 4}, {5, 4}, {5}}, {{2, 3, 5}}, {}, 2 * 6 * 5 * 4},
      {"einsum", {{2, 3}, {3, 4}}, {{2, 4}}, {{"equation", Word("ij,jk->ik")}}, 2 * 2 * 3 * 4},
      // q k and p v of 6 x 7 in 4 and 5 numbers, and five operations an element of softmax.
      {"attention", {{2, 6, 4}, {2, 7, 4}, {2, 7, 5}}, {{2, 6, 5}}, {}, 2 * 6 * 7 * (8 + 10 + 5)},
      {"conv1d", {{2, 3, 10}, {4, 3, 3}}, {{2, 4, 8}}, {}, 2 * 2 * 4 * 8 * 3 * 3},
      {"conv2d",
       {{2, 3, 8, 8}, {4, 3, 3, 3}, {4}},
       {{2, 4, 8, 8}},
       {{"padding", one}},
       2 * 2 * 4 * 64 * 27},
      {"conv2d",
       {{1, 6, 5, 5}, {6, 1, 3, 3}},
       {{1, 6, 3, 3}},
       {{"groups", std::int64_t{6}}},
       2 * 6 * 9 * 9},
      {"conv3d", {{1, 2, 4, 4, 4}, {3, 2, 2, 2, 2}}, {{1, 3, 3, 3, 3}}, {}, 2 * 3 * 27 * 2 * 8},
      {"conv_transpose2d", {{1, 2, 3, 3}, {2, 4, 2, 2}}, {{1, 4, 4, 4}}, {}, 2 * 9 * 2 * 4 * 4},
      {"max_pool2d", {{1, 2, 4, 4}}, {{1, 2, 2, 2}}, {{"kernel_size", std::int64_t{2}}}, 8 * 4},
      {"avg_pool1d", {{1, 2, 6}}, {{1, 2, 3}}, {{"kernel_size", std::int64_t{2}}}, 6 * 2 + 6},
      {"adaptive_avg_pool2d", {{1, 2, 4, 4}}, {{1, 2, 1, 1}}, {{"output_size", one}}, 2 * 16 + 2},
      {"batch_norm", {{2, 3, 4}, {3}, {3}, {3}, {3}}, {{2, 3, 4}}, {}, 4 * 24},
      {"batch_norm_train", {{2, 3, 4}}, {{2, 3, 4}}, {}, 8 * 24},
      {"group_norm", {{2, 4, 3}, {4}, {4}}, {{2, 4, 3}}, {{"groups", std::int64_t{2}}}, 8 * 24},
      {"layer_norm", {{2, 6}, {6}, {6}}, {{2, 6}}, {}, 8 * 12},
      {"rms_norm", {{2, 6}}, {{2, 6}}, {}, 4 * 12},
      {"softmax", {{2, 6}}, {{2, 6}}, {}, 5 * 12},
      {"log_softmax", {{2, 6}}, {{2, 6}}, {}, 5 * 12},
      {"logsumexp", {{2, 6}}, {{2}}, {{"dim", List{1}}}, 4 * 12},
      {"sum", {{2, 6}}, {{2}}, {{"dim", List{1}}}, 12},
      {"mean", {{2, 6}}, {{1}}, {}, 12 + 1},
      {"amax", {{2, 6}}, {{6}}, {{"dim", List{0}}}, 12},
      {"var", {{2, 6}}, {{2}}, {{"dim", List{1}}}, 4 * 12},
      {"cumsum", {{2, 6}}, {{2, 6}}, {{"dim", one}}, 12},
      {"mse_loss", {{2, 6}, {2, 6}}, {{1}}, {}, 3 * 12},
      {"cosine_similarity", {{2, 6}, {2, 6}}, {{2}}, {}, 6 * 12},
      {"triplet_margin_loss", {{2, 6}, {2, 6}, {2, 6}}, {{1}}, {}, 6 * 12},
      {"permute", {{2, 6}}, {{6, 2}}, {{"dims", List{1, 0}}}, 0},
      {"cat", {{2, 6}, {3, 6}}, {{5, 6}}, {}, 0},
  }));
  INFO(row.op);
  Task task = task_of(row);
  const auto done = complete(task);
  INFO((done ? "" : done.error().message));
  REQUIRE(done);
  CHECK(*textbook_flops(task, task.time_shapes[0]) == row.flops);
  CHECK(*compulsory_bytes(task, task.time_shapes[0]) == 4 * (elements(row.in) + elements(row.out)));
}

TEST_CASE("an output of another shape than the operator gives is refused", "[operators]") {
  Task task = task_of({"relu", {{4, 5}}, {{5, 4}}, {}, 0});
  const auto done = complete(task);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message,
             Catch::Contains("gives 'out0' the shape 4 x 5, but the tensor is 5 x 4"));
}

TEST_CASE("an attribute of another kind is refused by name", "[operators]") {
  struct Row {
    const char* op;
    Attributes attributes;
    const char* message;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"gelu", {{"approximate", Word("rough")}}, "no word among none, tanh"},
      {"elu", {{"alpha", Word("much")}}, "'alpha' is no number"},
      {"elu", {{"beta", 1.0}}, "has no attribute 'beta'"},
      {"sum", {{"dim", Word("last")}}, "'dim' is no list of whole numbers"},
      {"masked_fill", {}, "input mask is missing"},
      {"transmogrify", {}, "is no operator that is known"},
  }));
  Task task = task_of({row.op, {{4}}, {{4}}, row.attributes, 0});
  const auto done = complete(task);
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Catch::Contains(row.message));
}

TEST_CASE("of what is looked up only what can be read counts") {
  const auto task_of = [](std::int64_t tokens, std::int64_t rows, bool labels) {
    Task task;
    task.name = task.family = "lookup";
    task.axes = {{"tokens", AxisKind::free}, {"rows", AxisKind::free}, {"width", AxisKind::free}};
    Tensor table{"table", Role::in, DType::f32, {"rows", "width"}, {}, {}, {}};
    Tensor id{"id", Role::in, DType::i32, {"tokens"}, {}, {}, {}};
    if (labels) id.fill = {.kind = FillKind::labels, .below = "rows"};
    Tensor y{"y", Role::out, DType::f32, {"tokens", "width"}, {}, {}, {}};
    task.tensors = {table, id, y};
    task.time_shapes = {{{{"tokens", tokens}, {"rows", rows}, {"width", 64}}, 1}};
    return task;
  };
  const auto bytes = [](const Task& task) {
    return *compulsory_bytes(task, task.time_shapes[0]) / 4;
  };
  CHECK(bytes(task_of(10, 1000000, true)) <= 10 * 64 + 10 + 10 * 64);
  CHECK(bytes(task_of(10, 1000000, true)) >= 9 * 64 + 10 + 10 * 64);
  CHECK(bytes(task_of(10, 1000000, false)) == 10 * 64 + 10 + 10 * 64);
  // So many labels as rows meet 63 % of them.
  const std::int64_t met = (bytes(task_of(1000, 1000, true)) - 1000 - 64000) / 64;
  CHECK(met >= 620);
  CHECK(met <= 640);
  CHECK(bytes(task_of(100000, 100, true)) == 100 * 64 + 100000 + 100000 * 64);
  // Indices of a file may all name one row.
  Task given = task_of(10, 1000000, true);
  given.tensors[1].fill.kind = FillKind::file;
  CHECK(bytes(given) == 64 + 10 + 10 * 64);
  // Every thousandth element: no more than the operations that a task counts have operands.
  Task sparse = task_of(10, 1, false);
  sparse.tensors = {{"x", Role::in, DType::f32, {"1000*tokens"}, {}, {}, {}},
                    {"y", Role::out, DType::f32, {"tokens"}, {}, {}, {}}};
  CHECK(bytes(sparse) == 1000 * 10 + 10);
  sparse.work.flops = "tokens";
  CHECK(bytes(sparse) == 2 * 10 + 10);
  Task task = task_of(10, 1000, true);
  task.axes[1].kind = AxisKind::reduced;  // all of it is summed
  CHECK(bytes(task) == 1000 * 64 + 10 + 10 * 64);
}

TEST_CASE("what constants alone give is prepared, and is no work of the timed region") {
  struct Row {
    const char* name;
    Role weight;
    bool edge;
    std::vector<bool> prepared;
    std::int64_t flops, elements;
  };
  const Row row = GENERATE(values<Row>({
      {"an input", Role::in, true, {false, false, false}, 12 + 2 * 5 * 4 * 3 + 20, 15 + 12 + 20},
      {"a constant", Role::constant, true, {true, false, false}, 2 * 5 * 4 * 3 + 20, 15 + 20},
      {"its result is an output",
       Role::constant,
       false,
       {false, false, false},
       12 + 2 * 5 * 4 * 3 + 20,
       15 + 12 + 12 + 20},
  }));
  INFO(row.name);
  Task task;
  task.name = "prepared";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}};
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", row.weight, {"n", "k"}),
                  tensor("y", Role::out, {"rows", "n"})};
  if (!row.edge) task.tensors.push_back(tensor("r", Role::out, {"n", "k"}));
  task.operations = {{"act", "relu", {"w"}, {"r"}, {}},
                     {"product", "linear", {"x", "r"}, {"h"}, {}},
                     {"last", "relu", {"h"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 5}, {"k", 3}, {"n", 4}}}};
  REQUIRE(complete(task));
  CHECK(prepared_operations(task) == row.prepared);
  CHECK(*textbook_flops(task, task.time_shapes[0]) == row.flops);
  CHECK(*compulsory_bytes(task, task.time_shapes[0]) == 4 * row.elements);
}

}  // namespace
}  // namespace cupilot
