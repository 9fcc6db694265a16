// Products of triangles: slabs along k that hold only zeros are left out, and nothing else is.
#include "program/hooks/product.hpp"

#include "support/graph.hpp"
#include "task/content.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

Task product_of_square(Structure a, Structure b, bool turned_a, bool turned_b, std::int64_t side,
                       Precision precision = Precision::fp32_strict) {
  Tensor left = input("a", {"cols", "cols"}), right = input("b", {"cols", "cols"});
  left.fill.structure = a;
  right.fill.structure = b;
  auto task = graph_task(
      {left, right, output("y", {"cols", "cols"})},
      {{"mm",
        "matmul",
        {"a", "b"},
        {"y"},
        {{"transpose_a", std::int64_t{turned_a}}, {"transpose_b", std::int64_t{turned_b}}}}},
      {{"cols", side}}, precision);
  if (!task) FAIL(task.error().message);
  return *task;
}

int spans_of(Structure a, Structure b, bool turned_a = false, bool turned_b = false) {
  const auto product = graph_product(product_of_square(a, b, turned_a, turned_b, 8));
  REQUIRE(product);
  return product->spans;
}

constexpr Structure dense = Structure::dense, upper = Structure::upper, lower = Structure::lower,
                    diagonal = Structure::diagonal, symmetric = Structure::symmetric;

TEST_CASE("triangles say which places along k are not zero", "[product]") {
  using P = GraphProduct;
  CHECK(spans_of(dense, dense) == 0);
  CHECK(spans_of(symmetric, symmetric) == 0);
  CHECK(spans_of(upper, dense) == P::from_row);
  CHECK(spans_of(upper, dense, true) == P::to_row);
  CHECK(spans_of(lower, dense) == P::to_row);
  CHECK(spans_of(dense, upper) == P::to_column);
  CHECK(spans_of(dense, lower) == P::from_column);
  CHECK(spans_of(dense, lower, false, true) == P::to_column);
  CHECK(spans_of(upper, upper) == P::from_row + P::to_column);
  CHECK(spans_of(diagonal, dense) == P::from_row + P::to_row);
}

TEST_CASE("work and bytes of a product count what its triangles leave", "[operators]") {
  const auto counts = [](Structure a, Structure b) {
    const Task task = product_of_square(a, b, false, false, 12);
    const Workload workload = task.time_shapes[0];
    return std::pair(*textbook_flops(task, workload), *compulsory_bytes(task, workload));
  };
  const std::int64_t all = 12 * 12 * 12, square = 12 * 12, half = 12 * 13 / 2;
  CHECK(counts(dense, dense) == std::pair(2 * all, 4 * 3 * square));
  CHECK(counts(symmetric, dense) == std::pair(2 * all, 4 * (2 * square + half)));
  CHECK(counts(upper, dense) == std::pair(all, 4 * (2 * square + half)));
  CHECK(counts(upper, lower) == std::pair(all / 3, 4 * (square + 2 * half)));
  CHECK(counts(diagonal, dense).second == 4 * (2 * square + 12));
}

TEST_CASE("factors of a triangle hold no infinity", "[content]") {
  for (const auto& [a, b, finite] : {std::tuple(upper, dense, true), std::tuple(dense, lower, true),
                                     std::tuple(dense, dense, false)}) {
    const Task task = product_of_square(a, b, false, false, 70);
    for (const std::size_t tensor : {0U, 1U}) {
      const auto params =
          fill_params(task, tensor, task.time_shapes[0], {.seed = 3, .kind = ContentKind::special});
      REQUIRE(params);
      CHECK((params->content != static_cast<int>(ContentKind::special)) == finite);
    }
  }
}

TEST_CASE("products of triangles leave out zeros alone", "[hooks][threads]") {
  const Values simt = {{"BLOCK_M", 16}, {"BLOCK_N", 32}, {"BLOCK_K", 8},
                       {"THREAD_M", 2}, {"THREAD_N", 2}, {"LANES_M", 8}};
  Values parts = simt;
  parts["SPLIT"] = 2;
  const Values ring = {{"BLOCK_M", 64}, {"BLOCK_N", 32}, {"BLOCK_K", 8}, {"THREAD_M", 4},
                       {"THREAD_N", 4}, {"LANES_M", 4},  {"STAGES", 3}};
  const Values tensor = {{"TILE_M", 64}, {"TILE_N", 32}, {"CONSUMERS", 1}};
  Values cut = tensor;
  cut["SPLIT"] = 2;
  const std::tuple<Structure, Structure, bool, bool> cases[] = {
      {upper, upper, false, false},   {lower, lower, false, false}, {upper, lower, false, true},
      {lower, upper, true, false},    {dense, upper, false, false}, {lower, dense, false, false},
      {diagonal, lower, false, false}};
  for (const auto& [a, b, turned_a, turned_b] : cases) {
    CAPTURE(static_cast<int>(a), static_cast<int>(b), turned_a, turned_b);
    const Task strict = product_of_square(a, b, turned_a, turned_b, 132);
    check_accepted(strict, "gemm_simt", simt);
    check_accepted(strict, "gemm_simt_ring", ring);
    const Task split = product_of_square(a, b, turned_a, turned_b, 132, Precision::fp32_emulated);
    check_accepted(split, "gemm_wgmma_split", tensor);
  }
  check_accepted(product_of_square(upper, upper, false, false, 70), "gemm_simt", parts);
  check_accepted(product_of_square(lower, lower, false, false, 132, Precision::fp32_emulated),
                 "gemm_wgmma_split", cut);
}

TEST_CASE("strategies of products of triangles state what they leave out", "[hooks]") {
  const auto states = [](const std::vector<std::string>& names) {
    return std::count(names.begin(), names.end(), "skip_zero_slabs");
  };
  const Task whole = product_of_square(symmetric, dense, false, false, 70);
  for (const Structure left : {upper, lower, diagonal}) {
    const Task task = product_of_square(left, dense, false, false, 70);
    const auto templates = templates_of(builtin_families(), task);
    const auto others = templates_of(builtin_families(), whole);
    for (const char* name : {"gemm_simt", "gemm_simt_ring"}) {
      INFO(name);
      REQUIRE(named(templates, task, name) != nullptr);
      REQUIRE(named(others, whole, name) != nullptr);
      CHECK(states(named(templates, task, name)->provides) == 1);
      CHECK(states(named(others, whole, name)->provides) == 0);
    }
  }
}

TEST_CASE("a strategy that does not state what triangles leave out is the same kernel", "[hooks]") {
  const Task task = product_of_square(upper, dense, false, false, 70);
  const auto templates = templates_of(builtin_families(), task);
  const auto space = make_space(task, virtual_h200().device(), templates);
  REQUIRE(space);
  const auto completed = (*space)->complete(Strategy{{{"simt_core", {}, "", {}}}, "", {}, "test"});
  REQUIRE(completed);
  const auto stated = [](const Use& use) { return use.technique == "skip_zero_slabs"; };
  const auto& uses = completed->strategy.uses;
  CHECK(std::count_if(uses.begin(), uses.end(), stated) == 1);
  // As strategies of earlier versions are: pools and wisdom hold such.
  Strategy without = completed->strategy;
  std::erase_if(without.uses, stated);
  const auto code_of = [&](const Strategy& strategy) {
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    brief.device = &virtual_h200().device();
    const auto source = template_writer(templates)->write(brief);
    REQUIRE(source);
    const std::size_t begin = source->text.find("struct bf16");
    REQUIRE(begin != std::string::npos);
    return source->text.substr(begin);
  };
  CHECK(code_of(without) == code_of(completed->strategy));
  CHECK(code_of(without).find("zeros beyond are not read") != std::string::npos);
}

}  // namespace
}  // namespace cupilot
