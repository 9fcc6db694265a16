// Which techniques a model is offered where no template serves the task.
#include <set>

#include <cupilot/parts/model_agents.hpp>
#include <cupilot/parts/space.hpp>

#include "catch.hpp"

using namespace cupilot;

namespace {

std::set<std::string> offered(const Task& task) {
  const auto space = free_space(task);
  INFO((space ? "" : space.error().message));
  REQUIRE(space);
  std::set<std::string> names;
  for (const Technique& row : (*space)->techniques()) names.insert(row.name);
  return names;
}

Task of_operators(const std::vector<std::string>& kinds) {
  Task task;
  task.precision = Precision::tf32;
  for (const std::string& kind : kinds) task.operations.push_back({kind, kind, {}, {}});
  return task;
}

}  // namespace

TEST_CASE("a task is offered the techniques of the work that it has", "[agents][model]") {
  struct Row {
    std::vector<std::string> operators;
    std::set<std::string> with, without;
  };
  const Row rows[] = {
      {{"relu", "add"},
       {"vector_load", "grid_stride", "items_per_thread"},
       {"row_per_block", "register_rows", "online_reduction", "fast_exponential", "block_tile",
        "register_tile", "mma_core"}},
      {{"silu"}, {"vector_load", "fast_exponential"}, {"online_reduction", "row_per_warp"}},
      {{"rms_norm"},
       {"row_per_block", "register_rows", "rows_in_parts"},
       {"online_reduction", "warp_maximum", "fast_exponential", "tensor_map_store"}},
      {{"linear", "rms_norm"},
       {"block_tile", "mma_core", "row_per_block"},
       {"warp_maximum", "implicit_mma", "window_patch"}},
      {{"softmax"}, {"row_per_block", "online_reduction", "fast_exponential"}, {"mma_core"}},
      {{"max_pool2d"}, {"row_per_block"}, {"online_reduction", "implicit_product"}},
      {{"conv2d"}, {"register_tile", "implicit_product"}, {"online_reduction"}},
      {{"not known"}, {"row_per_block", "online_reduction"}, {"mma_core"}}};
  for (const Row& row : rows) {
    INFO(row.operators.front());
    const std::set<std::string> names = offered(of_operators(row.operators));
    for (const std::string& name : row.with) {
      INFO(name);
      CHECK(names.contains(name));
    }
    for (const std::string& name : row.without) {
      INFO(name);
      CHECK_FALSE(names.contains(name));
    }
  }
}

TEST_CASE("strict fp32 is not offered what rounds", "[agents][model]") {
  Task task = of_operators({"linear", "sum"});
  CHECK(offered(task).contains("wgmma_core"));
  task.precision = Precision::fp32_strict;
  const std::set<std::string> names = offered(task);
  CHECK(names.contains("simt_core"));
  for (const char* name : {"mma_core", "wgmma_core", "warpgroup_tile", "swap_operands"}) {
    INFO(name);
    CHECK_FALSE(names.contains(name));
  }
}

TEST_CASE("of a reference text it is known whether it takes exponentials, and a largest one",
          "[agents][model]") {
  Task task;
  CHECK(offered(task).contains("fast_exponential"));
  task.reference.text = "return in.x[index] / sum;";
  CHECK(offered(task).contains("row_per_block"));
  CHECK_FALSE(offered(task).contains("fast_exponential"));
  task.reference.text = "return in.x[index] / (1 + expf(-in.x[index]));";
  CHECK(offered(task).contains("fast_exponential"));
  CHECK_FALSE(offered(task).contains("online_reduction"));
  task.reference.text = "return expf(in.x[index] - maximum) / sum;";
  CHECK(offered(task).contains("online_reduction"));
  // An operation of no built-in operator has this text too.
  task.operations = {{"own", "own", {}, {}, {}}};
  CHECK(offered(task).contains("online_reduction"));
  task.reference.text = "return in.x[index] / sum;";
  CHECK_FALSE(offered(task).contains("online_reduction"));
}
