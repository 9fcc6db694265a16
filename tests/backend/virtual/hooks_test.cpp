// Templates with hooks on graphs of several forms: every kernel is right by the graph's reference.
#include <cupilot/family.hpp>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/windows.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

const Tunable* served_by(const std::vector<Tunable>& templates, const Task& task) {
  for (const Tunable& tunable : templates) {
    if (serves(tunable, task)) return &tunable;
  }
  return nullptr;
}

// y = relu(x + b) + r / 2: b is a column, r an element.
Task chain(Sizes sizes, DType type = DType::f32) {
  auto task =
      graph_task({input("x", {"rows", "cols"}, type), input("b", {"cols"}),
                  input("r", {"rows", "cols"}, type), output("y", {"rows", "cols"}, type)},
                 {{"bias", "add", {"x", "b"}, {"h"}},
                  {"act", "relu", {"h"}, {"a"}},
                  {"half", "add", {"a", "r"}, {"y"}, {{"alpha", 0.5}}}},
                 std::move(sizes), type == DType::f32 ? Precision::fp32_strict : Precision::bf16);
  REQUIRE(task);
  return *task;
}

TEST_CASE("a chain of pointwise operators is one kernel", "[hooks][threads]") {
  check_accepted(chain({{"rows", 37}, {"cols", 45}}), "pointwise", {{"VECTOR", 1}, {"ITEMS", 2}});
  check_accepted(chain({{"rows", 9}, {"cols", 128}}), "pointwise",
                 {{"VECTOR", 4}, {"ITEMS", 1}, {"BLOCKS_PER_SM", 1}, {"LOAD_HINT", 1}});
  check_accepted(chain({{"rows", 1}, {"cols", 8}}, DType::bf16), "pointwise",
                 {{"VECTOR", 4}, {"STORE_HINT", 1}});
}

TEST_CASE("rows, scalars of a row and two outputs are one kernel", "[hooks][threads]") {
  const auto task = graph_task({input("x", {"rows", "cols"}), input("s", {"rows", 1}),
                                output("y", {"rows", "cols"}), output("z", {"rows", "cols"})},
                               {{"scale", "add", {"x", "s"}, {"y"}}, {"act", "relu", {"y"}, {"z"}}},
                               {{"rows", 21}, {"cols", 36}});
  REQUIRE(task);
  check_accepted(*task, "pointwise", {{"VECTOR", 2}, {"ITEMS", 4}});
}

// softmax(relu(x + b)) + x / 2 and the mean of each row.
Task rows_graph(Sizes sizes) {
  auto task = graph_task({input("x", {"rows", "cols"}), input("b", {"cols"}),
                          output("y", {"rows", "cols"}), output("m", {"rows"})},
                         {{"bias", "add", {"x", "b"}, {"h"}},
                          {"act", "relu", {"h"}, {"a"}},
                          {"sm", "softmax", {"a"}, {"p"}, {{"dim", std::int64_t{1}}}},
                          {"half", "add", {"p", "x"}, {"y"}, {{"alpha", 0.5}}},
                          {"mean", "mean", {"h"}, {"m"}, {{"dim", std::vector<std::int64_t>{1}}}}},
                         std::move(sizes));
  REQUIRE(task);
  return *task;
}

TEST_CASE("reductions of rows with operators around them are one kernel", "[hooks][threads]") {
  // Teams within a warp, of a warp, of several; rows held whole, and read again.
  check_accepted(rows_graph({{"rows", 37}, {"cols", 45}}), "rowwise",
                 {{"TEAM", 8}, {"ITEMS", 6}, {"VECTOR", 1}});
  check_accepted(rows_graph({{"rows", 5}, {"cols", 300}}), "rowwise",
                 {{"TEAM", 32}, {"ITEMS", 2}, {"VECTOR", 4}});
  check_accepted(rows_graph({{"rows", 7}, {"cols", 1036}}), "rowwise",
                 {{"TEAM", 128}, {"ITEMS", 1}, {"VECTOR", 4}, {"BLOCKS_PER_SM", 1}});
  check_accepted(rows_graph({{"rows", 300}, {"cols", 6}}), "rowwise",
                 {{"TEAM", 256}, {"VECTOR", 2}, {"BLOCKS_PER_SM", 1}});
}

TEST_CASE("long rows are shared by the blocks of a cluster", "[hooks][threads]") {
  // Held in registers, in shared memory too, and read again; warps without elements.
  const auto long_rows = rows_graph({{"rows", 3}, {"cols", 3000}});
  check_accepted(long_rows, "rows_in_cluster",
                 {{"CLUSTER", 2}, {"THREADS", 128}, {"VECTOR", 4}, {"ITEMS", 3}});
  check_accepted(long_rows, "rows_in_cluster",
                 {{"CLUSTER", 4}, {"THREADS", 128}, {"VECTOR", 1}, {"ITEMS", 2}, {"SLOTS", 4}});
  check_accepted(long_rows, "rows_in_cluster",
                 {{"CLUSTER", 2}, {"THREADS", 128}, {"ITEMS", 2}, {"SLOTS", 2}, {"TURNS", 2}});
  check_accepted(rows_graph({{"rows", 5}, {"cols", 6}}), "rows_in_cluster",
                 {{"CLUSTER", 8}, {"THREADS", 128}, {"VECTOR", 2}, {"TURNS", 2}});
}

TEST_CASE("a product with a vector is a plain kernel of its rows", "[hooks][threads]") {
  const auto product =
      graph_task({input("a", {"rows", "cols"}), input("w", {1, "cols"}), input("b", {1}),
                  output("y", {"rows", 1})},
                 {{"fc", "linear", {"a", "w", "b"}, {"h"}}, {"act", "relu", {"h"}, {"y"}}},
                 {{"rows", 4}, {"cols", 50}});
  REQUIRE(product);
  check_accepted(*product, "rowwise", {{"TEAM", 16}, {"VECTOR", 2}});
  check_accepted(*product, "rows_in_parts", {{"PARTS", 2}, {"THREADS", 128}});
}

constexpr auto tile = [](Values more) {
  Values values = {{"BLOCK_M", 16}, {"BLOCK_N", 32}, {"BLOCK_K", 8},
                   {"THREAD_M", 2}, {"THREAD_N", 2}, {"LANES_M", 8}};
  for (const auto& [name, value] : more) values[name] = value;
  return values;
};
constexpr auto warps = [](Values more) {
  Values values = {
      {"BLOCK_M", 32}, {"BLOCK_N", 32}, {"BLOCK_K", 16}, {"WARP_M", 16}, {"WARP_N", 16}};
  for (const auto& [name, value] : more) values[name] = value;
  return values;
};

TEST_CASE("what follows a product is its epilogue", "[hooks][threads]") {
  // A bias, a row's factor, a residual; axes that are named as the template's are.
  const auto linear =
      graph_task({input("A", {"k", "m"}), input("w", {"n", "m"}), input("b", {"n"}),
                  input("s", {"k", 1}), input("D", {"k", "n"}), output("y", {"k", "n"})},
                 {{"fc", "linear", {"A", "w", "b"}, {"h"}},
                  {"act", "gelu", {"h"}, {"g"}},
                  {"scale", "mul", {"g", "s"}, {"z"}},
                  {"sum", "add", {"z", "D"}, {"y"}, {{"alpha", 0.5}}}},
                 {{"k", 19}, {"m", 50}, {"n", 36}});
  REQUIRE(linear);
  check_accepted(*linear, "gemm_simt", tile({{"STORE_VECTOR", 2}, {"SPLIT", 2}}));
  check_accepted(*linear, "gemm_simt",
                 tile({{"THREAD_N", 4}, {"STORE_VECTOR", 4}, {"STREAM_STORE", 1}}));
  // Batches, both operands as they are, and two outputs.
  const auto batched =
      graph_task({input("a", {"batch", "rows", "cols"}), input("b", {"batch", "cols", "n"}),
                  output("y", {"batch", "rows", "n"}), output("z", {"batch", "rows", "n"})},
                 {{"mm", "matmul", {"a", "b"}, {"y"}}, {"act", "tanh", {"y"}, {"z"}}},
                 {{"batch", 2}, {"rows", 17}, {"cols", 21}, {"n", 5}});
  REQUIRE(batched);
  check_accepted(*batched, "gemm_simt", tile({}));
}

TEST_CASE("operands of a product may be turned, and one may be shared", "[hooks][threads]") {
  const auto turned = graph_task(
      {input("a", {"cols", "rows"}), input("b", {"n", "cols"}), output("y", {"rows", "n"})},
      {{"turn", "transpose", {"b"}, {"t"}, {{"dim0", std::int64_t{0}}, {"dim1", std::int64_t{1}}}},
       {"mm", "matmul", {"a", "t"}, {"y"}, {{"transpose_a", std::int64_t{1}}}}},
      {{"rows", 18}, {"cols", 21}, {"n", 34}});
  REQUIRE(turned);
  check_accepted(*turned, "gemm_simt", tile({}));
  const auto shared =
      graph_task({input("a", {"batch", "i", "rows", "cols"}), input("b", {"cols", "n"}),
                  output("y", {"batch", "i", "rows", "n"})},
                 {{"mm", "einsum", {"a", "b"}, {"y"}, {{"equation", "bijl,lk->bijk"}}}},
                 {{"batch", 2}, {"i", 3}, {"rows", 5}, {"cols", 20}, {"n", 6}});
  REQUIRE(shared);
  check_accepted(*shared, "gemm_simt", tile({}));
}

TEST_CASE("products of 16 bits take tensor cores with an epilogue", "[hooks][threads]") {
  const auto task =
      graph_task({input("x", {"rows", "cols"}, DType::bf16), input("w", {"n", "cols"}, DType::bf16),
                  input("b", {"n"}, DType::bf16), input("r", {"rows", "n"}),
                  output("y", {"rows", "n"}, DType::bf16)},
                 {{"fc", "linear", {"x", "w", "b"}, {"h"}},
                  {"act", "silu", {"h"}, {"a"}},
                  {"sum", "add", {"a", "r"}, {"y"}}},
                 {{"rows", 48}, {"cols", 64}, {"n", 40}}, Precision::bf16);
  REQUIRE(task);
  check_accepted(*task, "gemm_mma", warps({{"STORE_VECTOR", 2}}));
  check_accepted(*task, "gemm_mma", warps({{"STAGED", 1}, {"STORE_VECTOR", 8}, {"LDMATRIX", 1}}));
  check_accepted(*task, "gemm_wgmma", {{"TILE_M", 64}, {"TILE_N", 64}, {"CONSUMERS", 1}});
  check_accepted(*task, "gemm_wgmma",
                 {{"TILE_M", 64}, {"TILE_N", 32}, {"CONSUMERS", 1}, {"STRIPS", 1}});
}

TEST_CASE("past a product's edges nothing is read that a map of its own hands on",
          "[hooks][threads]") {
  // The mask of all batches stands apart from their elements.
  const auto task = graph_task(
      {input("x", {"i", "rows", "cols"}, DType::bf16), input("w", {"i", "n", "cols"}, DType::bf16),
       input("seen", {"rows", "n"}), output("y", {"i", "rows", "n"}, DType::bf16)},
      {{"mm", "matmul", {"x", "w"}, {"h"}, {{"transpose_b", std::int64_t{1}}}},
       {"un", "eq", {"seen"}, {"hidden"}, {{"other", 0.5}}},
       {"hide", "masked_fill", {"h", "hidden"}, {"y"}, {{"value", -8.0}}}},
      {{"i", 2}, {"rows", 48}, {"cols", 64}, {"n", 40}}, Precision::bf16);
  REQUIRE(task);
  check_accepted(*task, "gemm_mma", warps({{"STORE_VECTOR", 2}}));
  check_accepted(*task, "gemm_wgmma",
                 {{"TILE_M", 64}, {"TILE_N", 64}, {"CONSUMERS", 1}, {"STRIPS", 1}});
}

TEST_CASE("a graph that no hooks serve has no template", "[hooks][threads]") {
  const std::int64_t one = 1;
  const auto two = graph_task({input("x", {"rows", "cols"}), output("y", {"rows", "cols"})},
                              {{"s", "cumsum", {"x"}, {"c"}, {{"dim", one}}},
                               {"t", "cumsum", {"c"}, {"y"}, {{"dim", one}}}},
                              {{"rows", 4}, {"cols", 5}});
  REQUIRE(two);
  CHECK(served_by(templates_of(builtin_families(), *two), *two) == nullptr);
  // Rows that read what all rows gave: no row is independent.
  const auto all = graph_task({input("x", {"rows", "cols"}), output("y", {"rows", "cols"})},
                              {{"s", "amax", {"x"}, {"m"}, {{"dim", std::vector<std::int64_t>{1}}}},
                               {"t", "mean", {"m"}, {"a"}},
                               {"u", "sub", {"x", "a"}, {"y"}}},
                              {{"rows", 4}, {"cols", 5}});
  REQUIRE(all);
  CHECK(served_by(templates_of(builtin_families(), *all), *all) == nullptr);
  // Terms of all rows that read what all rows gave.
  const auto twice =
      graph_task({input("x", {"rows", "cols"}), output("y", {1})},
                 {{"s", "amax", {"x"}, {"m"}, {{"dim", std::vector<std::int64_t>{1}}}},
                  {"t", "var", {"m"}, {"y"}}},
                 {{"rows", 4}, {"cols", 5}});
  REQUIRE(twice);
  CHECK(served_by(templates_of(builtin_families(), *twice), *twice) == nullptr);
}

// Checks each of three templates on a graph with a value of all rows.
void check_joined(const Task& task, bool down) {
  if (down) {
    check_accepted(task, "columnwise", {{"LANES", 16}, {"DEPTH", 4}, {"VECTOR", 2}});
    check_accepted(task, "columnwise", {{"LANES", 64}, {"DEPTH", 1}, {"VECTOR", 1}});
    return;
  }
  check_accepted(task, "rowwise", {{"TEAM", 8}, {"VECTOR", 2}});
  check_accepted(task, "rowwise", {{"TEAM", 64}, {"ITEMS", 2}, {"BLOCKS_PER_SM", 1}});
  check_accepted(task, "rows_in_parts", {{"PARTS", 2}, {"THREADS", 128}});
}

TEST_CASE("what rows give is folded over all of them in the same kernel", "[hooks][threads]") {
  Tensor labels = input("t", {"rows"}, DType::i64);
  labels.fill = {.kind = FillKind::labels, .below = "cols"};
  const auto entropy = [&](std::map<std::string, Attribute> attributes, bool weight) {
    std::vector<Tensor> tensors = {input("x", {"rows", "cols"}), labels, output("y", {1})};
    std::vector<std::string> inputs = {"x", "t"};
    if (weight) {
      tensors.push_back(input("w", {"cols"}));
      tensors.back().fill = {.kind = FillKind::uniform, .low = 0.5, .high = 1.5};
      inputs.push_back("w");
    }
    auto task = graph_task(std::move(tensors),
                           {{"loss", "cross_entropy", inputs, {"y"}, std::move(attributes)}},
                           {{"rows", 70}, {"cols", 22}});
    REQUIRE(task);
    return *task;
  };
  check_joined(entropy({}, false), false);
  check_joined(entropy({{"label_smoothing", 0.25}, {"ignore_index", std::int64_t{3}}}, true),
               false);
  // Classes that are an inner dimension: rows lie side by side.
  Tensor inner = input("t", {"n", "w"}, DType::i64);
  inner.fill = {.kind = FillKind::labels, .below = "ch"};
  const auto places =
      graph_task({input("x", {"n", "ch", "w"}), inner, output("y", {1})},
                 {{"loss", "cross_entropy", {"x", "t"}, {"y"}}}, {{"n", 3}, {"ch", 21}, {"w", 26}});
  REQUIRE(places);
  check_joined(*places, true);
  const auto triplet = graph_task(
      {input("a", {"rows", "cols"}), input("p", {"rows", "cols"}), input("n", {"rows", "cols"}),
       output("y", {1})},
      {{"loss", "triplet_margin_loss", {"a", "p", "n"}, {"y"}, {{"swap", std::int64_t{1}}}}},
      {{"rows", 37}, {"cols", 50}});
  REQUIRE(triplet);
  check_joined(*triplet, false);
}

TEST_CASE("what follows a value of all rows is computed once", "[hooks][threads]") {
  // Two folds over all rows, of which one has maps before and after it; an output a row too.
  const std::vector<std::int64_t> one = {1};
  const auto task =
      graph_task({input("x", {"rows", "cols"}), input("s", {"rows"}), input("scale", {1}),
                  output("y", {1}), output("z", {1}), output("m", {"rows"})},
                 {{"norm", "norm", {"x"}, {"m"}, {{"dim", one}}},
                  {"shift", "sub", {"m", "s"}, {"d"}},
                  {"mean", "mean", {"d"}, {"a"}},
                  {"most", "amax", {"m"}, {"z"}},
                  {"scaled", "mul", {"a", "scale"}, {"b"}},
                  {"end", "tanh", {"b"}, {"y"}}},
                 {{"rows", 19}, {"cols", 12}});
  REQUIRE(task);
  check_joined(*task, false);
}

// A chain with a reduction along `dim` of [a, b, c].
Task along(std::int64_t dim, const char* reduction, Sizes sizes) {
  std::vector<Expr> kept = {"a", "b", "c"};
  kept.erase(kept.begin() + dim);
  auto task =
      graph_task({input("x", {"a", "b", "c"}), output("y", kept)},
                 {{"act", "relu", {"x"}, {"h"}},
                  {"fold", reduction, {"h"}, {"f"}, {{"dim", std::vector<std::int64_t>{dim}}}},
                  {"last", "tanh", {"f"}, {"y"}}},
                 std::move(sizes));
  REQUIRE(task);
  return *task;
}

TEST_CASE("reductions over an inner dimension are one kernel", "[hooks][threads]") {
  check_accepted(along(1, "sum", {{"a", 3}, {"b", 45}, {"c", 36}}), "columnwise",
                 {{"LANES", 32}, {"DEPTH", 4}, {"ITEMS", 2}, {"VECTOR", 4}});
  check_accepted(along(1, "argmax", {{"a", 2}, {"b", 37}, {"c", 70}}), "columnwise",
                 {{"LANES", 64}, {"DEPTH", 1}, {"ITEMS", 1}});
  check_accepted(along(1, "argmin", {{"a", 2}, {"b", 67}, {"c", 10}}), "columnwise",
                 {{"LANES", 8}, {"DEPTH", 8}, {"ITEMS", 2}, {"VECTOR", 2}});
  check_accepted(along(0, "mean", {{"a", 33}, {"b", 5}, {"c", 6}}), "columnwise",
                 {{"LANES", 8}, {"DEPTH", 8}, {"ITEMS", 8}, {"VECTOR", 2}});
  check_accepted(along(2, "amax", {{"a", 3}, {"b", 4}, {"c", 50}}), "rowwise", {{"TEAM", 16}});
  const auto places = along(2, "argmax", {{"a", 3}, {"b", 4}, {"c", 300}});
  check_accepted(places, "rowwise", {{"TEAM", 64}, {"VECTOR", 2}});
  check_accepted(places, "rows_in_parts", {{"PARTS", 4}, {"THREADS", 128}});
  check_accepted(places, "rows_in_cluster", {{"CLUSTER", 2}, {"THREADS", 128}});
  const auto softmax = graph_task({input("x", {"a", "b", "c"}), output("y", {"a", "b", "c"})},
                                  {{"sm", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{1}}}}},
                                  {{"a", 2}, {"b", 21}, {"c", 10}});
  REQUIRE(softmax);
  check_accepted(*softmax, "columnwise", {{"LANES", 16}, {"DEPTH", 4}, {"VECTOR", 2}});
}

TEST_CASE("normalisations of channels, groups and instances are one kernel", "[hooks][threads]") {
  const Sizes sizes = {{"n", 3}, {"ch", 4}, {"h", 5}, {"w", 6}};
  const std::vector<Expr> shape = {"n", "ch", "h", "w"};
  const auto norm = [&](const char* kind, std::map<std::string, Attribute> attributes) {
    auto task =
        graph_task({input("x", shape), input("g", {"ch"}), input("b", {"ch"}), output("y", shape)},
                   {{"norm", kind, {"x", "g", "b"}, {"h1"}, std::move(attributes)},
                    {"act", "relu", {"h1"}, {"y"}}},
                   sizes);
    REQUIRE(task);
    return *task;
  };
  check_accepted(norm("instance_norm", {}), "rowwise", {{"TEAM", 16}, {"VECTOR", 2}});
  check_accepted(norm("group_norm", {{"groups", std::int64_t{2}}}), "rowwise",
                 {{"TEAM", 16}, {"VECTOR", 2}});
  check_accepted(norm("group_norm", {{"groups", std::int64_t{2}}}), "rows_in_parts",
                 {{"PARTS", 4}, {"THREADS", 128}, {"VECTOR", 2}});
  // Mean and variance are one pass over the row.
  const Task group = norm("group_norm", {{"groups", std::int64_t{2}}});
  const auto templates = templates_of(builtin_families(), group);
  CHECK(named(templates, group, "rows_in_parts")->plan.launches.size() == 2);
  const auto batch = graph_task(
      {input("x", shape), input("g", {"ch"}), input("b", {"ch"}), input("m", {"ch"}),
       input("v", {"ch"}), output("y", shape), output("m2", {"ch"}), output("v2", {"ch"})},
      {{"norm", "batch_norm_train", {"x", "g", "b", "m", "v"}, {"y", "m2", "v2"}}}, sizes);
  REQUIRE(batch);
  check_accepted(*batch, "rowwise", {{"TEAM", 32}, {"VECTOR", 2}, {"ITEMS", 1}});
  check_accepted(*batch, "rows_in_parts", {{"PARTS", 4}, {"THREADS", 128}, {"VECTOR", 1}});
  check_accepted(*batch, "rows_in_cluster", {{"CLUSTER", 2}, {"THREADS", 128}});
}

TEST_CASE("folds of a row share a pass where none needs another's result", "[hooks][threads]") {
  const auto launches = [](std::vector<Tensor> tensors, std::vector<Operation> operations) {
    const auto task =
        graph_task(std::move(tensors), std::move(operations), {{"rows", 9}, {"cols", 100}});
    REQUIRE(task);
    check_accepted(*task, "rows_in_parts", {{"PARTS", 4}, {"THREADS", 128}, {"VECTOR", 2}});
    check_accepted(*task, "rowwise", {{"TEAM", 64}, {"VECTOR", 4}});
    check_accepted(*task, "rows_in_cluster", {{"CLUSTER", 2}, {"THREADS", 128}});
    const auto templates = templates_of(builtin_families(), *task);
    return named(templates, *task, "rows_in_parts")->plan.launches.size();
  };
  const std::map<std::string, Attribute> last = {{"dim", Integers{1}}};
  const Tensor x = input("x", {"rows", "cols"}), m = output("m", {"rows"}),
               v = output("v", {"rows"});
  CHECK(launches({x, m, v}, {{"mean", "mean", {"x"}, {"m"}, last},
                             {"most", "amax", {"x"}, {"v"}, last}}) == 1);
  CHECK(launches({x, m}, {{"var", "var", {"x"}, {"m"}, last}}) == 1);
  // Squares about the mean of something else, and about a norm.
  CHECK(launches(
            {x, m},
            {{"act", "relu", {"x"}, {"h"}},
             {"mean", "mean", {"h"}, {"a"}, {{"dim", Integers{1}}, {"keepdim", std::int64_t{1}}}},
             {"apart", "sub", {"x", "a"}, {"d"}},
             {"norm", "norm", {"d"}, {"m"}, last}}) == 2);
}

TEST_CASE("few long rows are shared by blocks", "[hooks][threads]") {
  check_accepted(rows_graph({{"rows", 3}, {"cols", 1036}}), "rows_in_parts",
                 {{"PARTS", 4}, {"THREADS", 128}, {"VECTOR", 4}, {"ITEMS", 1}});
  const auto loss =
      graph_task({input("x", {"rows", "cols"}), input("t", {"rows", "cols"}), output("y", {1})},
                 {{"mse", "mse_loss", {"x", "t"}, {"y"}}}, {{"rows", 30}, {"cols", 50}});
  REQUIRE(loss);
  check_accepted(*loss, "rows_in_parts", {{"PARTS", 8}, {"THREADS", 128}, {"VECTOR", 2}});
  const auto templates = templates_of(builtin_families(), *loss);
  CHECK(named(templates, *loss, "rows_in_parts")->plan.launches.size() == 1);
  // One row of all elements, of which a factor repeats.
  const auto hinge =
      graph_task({input("x", {"a", "b", "cols"}), input("t", {"b", "cols"}), output("y", {1})},
                 {{"mul", "mul", {"x", "t"}, {"h"}}, {"mean", "mean", {"h"}, {"y"}}},
                 {{"a", 7}, {"b", 3}, {"cols", 50}});
  REQUIRE(hinge);
  check_accepted(*hinge, "rows_in_parts",
                 {{"PARTS", 4}, {"THREADS", 128}, {"VECTOR", 2}, {"ITEMS", 1}});
  check_accepted(*hinge, "rowwise", {{"TEAM", 128}, {"VECTOR", 2}});
}

TEST_CASE("convolutions and pools are one kernel with what follows", "[hooks][threads]") {
  const Sizes sizes = {{"n", 2}, {"ch", 4}, {"o", 6}, {"h", 9}, {"w", 11}};
  const auto conv = [&](const char* kind, std::vector<Expr> weight, std::vector<Expr> result,
                        std::map<std::string, Attribute> attributes) {
    auto task = graph_task({input("x", {"n", "ch", "h", "w"}), input("k", std::move(weight)),
                            input("b", {result[1]}), output("y", result)},
                           {{"before", "relu", {"x"}, {"r"}},
                            {"conv", kind, {"r", "k", "b"}, {"c"}, std::move(attributes)},
                            {"act", "tanh", {"c"}, {"y"}}},
                           sizes);
    REQUIRE(task);
    return *task;
  };
  const auto plain = conv("conv2d", {"o", "ch", 3, 3}, {"n", "o", "(h-1)/2+1", "(w-1)/2+1"},
                          {{"stride", Integers{2, 2}}, {"padding", Integers{1, 1}}});
  check_accepted(plain, "window_direct", {{"THREADS", 64}});
  check_accepted(plain, "window_direct", {{"THREADS", 64}, {"ACROSS", 4}, {"ALONG", 2}});
  const auto turned = conv("conv_transpose2d", {"ch", 3, 3, 2}, {"n", "6", "h*2-1+2", "w+1"},
                           {{"stride", Integers{2, 1}}, {"groups", std::int64_t{2}}});
  check_accepted(turned, "window_direct", {{"THREADS", 64}, {"ACROSS", 2}});
  for (const std::int64_t ahead : {0, 1}) {
    const Values values = {{"BLOCK_M", 32}, {"BLOCK_N", 8}, {"THREAD_N", 2}, {"PREFETCH", ahead}};
    check_accepted(plain, "window_product", values);
    check_accepted(turned, "window_product", values);
  }
  const auto pool =
      graph_task({input("x", {"n", "ch", "h", "w"}), output("y", {"n", "ch", "h - 2", "w - 2"})},
                 {{"pool",
                   "max_pool2d",
                   {"x"},
                   {"p"},
                   {{"kernel_size", Integers{3, 3}}, {"stride", Integers{1, 1}}}},
                  {"act", "relu", {"p"}, {"y"}}},
                 sizes);
  REQUIRE(pool);
  check_accepted(*pool, "window_direct", {{"THREADS", 64}, {"ALONG", 3}});
}

TEST_CASE("convolutions take tensor cores, transposed ones phase by phase", "[hooks][threads]") {
  const Sizes sizes = {{"n", 2}, {"ch", 6}, {"o", 10}, {"h", 9}, {"w", 11}};
  const std::vector<Window> windows = {
      {"conv2d",
       plane,
       {"o", "ch", 3, 2},
       {"n", "o", "(h-1)/2+1", "w-1"},
       {{"stride", Integers{2, 1}}, {"padding", Integers{1, 0}}}},
      // Taps two apart at steps of three: each phase has other taps, 2, 1 and 1 of them.
      {"conv_transpose2d",
       plane,
       {"ch", 5, 4, 3},
       {"n", "10", "(h-1)*3+5", "w*2"},
       {{"stride", Integers{3, 2}},
        {"padding", Integers{1, 1}},
        {"dilation", Integers{2, 1}},
        {"output_padding", Integers{0, 1}},
        {"groups", std::int64_t{2}}}},
      // Every second place is reached by no tap.
      {"conv_transpose2d",
       plane,
       {"ch", 10, 3, 1},
       {"n", "10", "(h-1)*2+5", "w"},
       {{"stride", Integers{2, 1}}, {"dilation", Integers{2, 1}}}}};
  const Values small = {
      {"BLOCK_M", 32}, {"BLOCK_N", 16}, {"WARP_M", 16}, {"WARP_N", 16}, {"PREFETCH", 0}};
  const Values ahead = {{"BLOCK_M", 64}, {"BLOCK_N", 16}, {"WARP_M", 32}, {"WARP_N", 8},
                        {"BLOCK_K", 32}, {"PREFETCH", 1}, {"STAGES", 2}};
  const Values group = {{"GROUPS_M", 1}, {"BLOCK_N", 16}};
  const Values groups = {
      {"GROUPS_M", 2}, {"PARTS", 2}, {"BLOCK_N", 32}, {"BLOCK_K", 32}, {"PREFETCH", 1}};
  const Values plain = {{"BLOCK_M", 32}, {"BLOCK_N", 8}, {"THREAD_N", 2}, {"PREFETCH", 1}};
  for (const Window& window : windows) {
    for (const Precision precision : {Precision::tf32, Precision::fp32_emulated}) {
      const auto task = window_task(window, sizes, precision, precision == Precision::tf32);
      const auto other = window_task(window, sizes, precision, precision != Precision::tf32);
      check_accepted(task, "window_mma", small);
      check_accepted(other, "window_mma", ahead);
      check_accepted(task, "window_wgmma", groups);
      check_accepted(other, "window_wgmma", group);
      check_accepted(task, "window_product", plain);
    }
  }
  // Strict classes are not for tensor cores, nor is a window without a product.
  const auto strict = window_task(windows[0], sizes, Precision::fp32_strict);
  CHECK(named(templates_of(builtin_families(), strict), strict, "window_mma") == nullptr);
  CHECK(named(templates_of(builtin_families(), strict), strict, "window_wgmma") == nullptr);
  CHECK(named(templates_of(builtin_families(), strict), strict, "window_product") != nullptr);
}

TEST_CASE("reductions of several parts of a row are one kernel", "[hooks][threads]") {
  // GroupNorm, the least of all channels, a bias that turns the result about.
  const auto least =
      graph_task({input("x", {"rows", "cols"}), input("g", {"cols"}), input("b", {"cols"}),
                  input("bias", {1, "cols", 1, 1}), output("y", {1, "cols", "rows", 1})},
                 {{"norm", "group_norm", {"x", "g", "b"}, {"h"}, {{"groups", std::int64_t{4}}}},
                  {"least",
                   "amin",
                   {"h"},
                   {"m"},
                   {{"dim", std::vector<std::int64_t>{1}}, {"keepdim", std::int64_t{1}}}},
                  {"sum", "add", {"m", "bias"}, {"y"}}},
                 {{"rows", 6}, {"cols", 24}});
  REQUIRE(least);
  check_accepted(*least, "row_in_block", {{"THREADS", 64}, {"TEAM", 8}});
  check_accepted(*least, "row_in_block", {{"THREADS", 64}, {"TEAM", 64}});
  check_accepted(*least, "row_in_block", {{"THREADS", 32}, {"TEAM", 1}});
  // A product, then a softmax over its results.
  const auto after = graph_task(
      {input("a", {"rows", "cols"}), input("w", {"out", "cols"}), output("y", {"rows", "out"})},
      {{"fc", "linear", {"a", "w"}, {"h"}}, {"sm", "softmax", {"h"}, {"y"}}},
      {{"rows", 4}, {"cols", 21}, {"out", 13}});
  REQUIRE(after);
  const auto templates = templates_of(builtin_families(), *after);
  CHECK(served_by(templates, *after) == nullptr);  // better in two parts
}

TEST_CASE("a family's templates serve graphs of its operator in the graph's names",
          "[hooks][threads]") {
  // Names that the templates have for something else.
  const auto made = [](const char* kind, std::int64_t dim, Sizes sizes) {
    auto task =
        graph_task({input("y", {"rows", "chunk", "cols"}), output("x", {"rows", "chunk", "cols"})},
                   {{"sm", kind, {"y"}, {"x"}, {{"dim", dim}}}}, std::move(sizes));
    REQUIRE(task);
    return *task;
  };
  const auto task = made("softmax", 2, {{"rows", 3}, {"chunk", 5}, {"cols", 129}});
  check_accepted(task, "softmax_block", {{"THREADS", 64}, {"ITEMS", 2}, {"VECTOR", 2}});
  check_accepted(task, "softmax_warp", {{"LANES", 32}, {"ITEMS", 6}});
  check_accepted(task, "rowwise", {{"TEAM", 16}});
  const auto logarithm = made("log_softmax", 2, {{"rows", 2}, {"chunk", 3}, {"cols", 96}});
  check_accepted(logarithm, "softmax_tile", {{"LANES", 8}, {"ITEMS", 12}});
  check_accepted(logarithm, "softmax_cluster", {{"CLUSTER", 2}, {"THREADS", 128}, {"ITEMS", 1}});
  // Over another dimension, and with an operator after it.
  const auto inner = made("softmax", 1, {{"rows", 3}, {"chunk", 5}, {"cols", 12}});
  CHECK(named(templates_of(builtin_families(), inner), inner, "softmax_warp") == nullptr);
  const auto after = graph_task({input("x", {"rows", "cols"}), output("y", {"rows", "cols"})},
                                {{"sm", "softmax", {"x"}, {"h"}}, {"act", "relu", {"h"}, {"y"}}},
                                {{"rows", 4}, {"cols", 8}});
  REQUIRE(after);
  CHECK(named(templates_of(builtin_families(), *after), *after, "softmax_warp") == nullptr);
}

TEST_CASE("a task of a family with templates of its own is served by them alone",
          "[hooks][threads]") {
  const auto task = task_from_words({"softmax", "rows=4", "cols=8"});
  REQUIRE(task);
  for (const Tunable& tunable : templates_of(builtin_families(), *task)) {
    CHECK(tunable.name != "rowwise");
    CHECK(tunable.anchor.empty());
  }
}

}  // namespace
}  // namespace cupilot
