// Tensors with strides that templates with hooks serve.
#include "program/hooks/pitched.hpp"

#include "catch.hpp"
#include "support/graph.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

using Exprs = std::vector<Expr>;

TEST_CASE("strides of blocks a pitch apart are told from others", "[views]") {
  struct Row {
    const char* name;
    Exprs shape, strides;
    std::optional<Pitch> pitch;
  };
  const Row rows[] = {
      {"dense, without strides", {"n", "k"}, {}, {}},
      {"dense, with strides", {"n", "k"}, {"k", 1}, Pitch{0, "n*k", "n*k"}},
      {"rows", {"n", "k"}, {"k + g", 1}, Pitch{1, "k", "k + g"}},
      {"planes",
       {"n", "c", "h", "w"},
       {"all", "h*w", "w", 1},
       Pitch{1, product_of({"c", "h", "w"}), "all"}},
      {"rows of planes", {"n", "c", "w"}, {"c*all", "all", 1}, Pitch{2, "w", "all"}},
      {"two pitches", {"n", "c", "w"}, {"far", "all", 1}, {}},
      {"every second element", {"n", "k"}, {"2 * k", 2}, {}},
      {"turned", {"n", "k"}, {1, "n"}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto found = pitch_of({.shape = row.shape, .strides = row.strides});
    REQUIRE(found.has_value() == row.pitch.has_value());
    if (!found) continue;
    CHECK(found->outer == row.pitch->outer);
    CHECK(found->block == row.pitch->block);
    CHECK(found->pitch == row.pitch->pitch);
    CHECK(pitched_strides(row.shape, found->outer, found->pitch) == row.strides);
  }
}

TEST_CASE("vectors of views divide runs, pitches and offsets", "[views]") {
  auto x = support::input("x", {"n", "k"}), y = support::output("y", {"n", "k"});
  y.strides = {"pitch", 1};
  Task task;
  task.tensors = {x, y};
  const Expr run = run_with_views(task, "k");
  struct Row {
    std::int64_t k, pitch, offset, run;
  };
  const Row rows[] = {{32, 64, 0, 16}, {32, 64, 8, 8}, {32, 36, 0, 4},
                      {12, 64, 0, 4},  {32, 64, 2, 2}, {32, 33, 0, 1}};
  for (const Row& row : rows) {
    const auto found = evaluate_or_error(
        run, scope_of({{"k", row.k}, {"pitch", row.pitch}, {"view_offset_y", row.offset}}));
    REQUIRE(found);
    CHECK(*found == row.run);
  }
  task.tensors = {x};
  CHECK(run_with_views(task, "k") == Expr("k"));
}

TEST_CASE("views are of anchors that take them and of aligned tensors", "[views]") {
  auto y = support::output("y", {"n", "k"});
  y.strides = {"pitch", 1};
  Task task;
  task.tensors = {support::input("x", {"n", "k"}), y};
  for (const char* anchor : {"map", "row_reduction", "matmul", "gather"})
    CHECK(takes_views(task, anchor));
  for (const char* anchor : {"scan", "local", "weighted"}) CHECK_FALSE(takes_views(task, anchor));
  task.tensors[1].alignment = 8;
  CHECK_FALSE(takes_views(task, "map"));
  task.tensors[1] = y;
  task.tensors[1].role = Role::in_out;
  CHECK_FALSE(takes_views(task, "map"));
  task.tensors[1] = y;
  task.tensors[1].strides = {"pitch", 2};
  CHECK_FALSE(takes_views(task, "map"));
}

}  // namespace
}  // namespace cupilot
