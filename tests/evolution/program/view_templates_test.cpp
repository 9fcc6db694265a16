// Every template that takes tensors with strides is right about them: between their elements
// nothing is written, and nothing that stands there is read.
#include <cupilot/parts/agents.hpp>

#include "catch.hpp"
#include "evolution/program/support.hpp"
#include "evolution/program/writer.hpp"
#include "program/hooks/pitched.hpp"
#include "support/graph.hpp"

namespace cupilot::testing {
namespace {

using support::graph_task;
using support::input;
using support::output;

using Shape = std::vector<Expr>;
using Integers = std::vector<std::int64_t>;

// A view whose first `outer` dimensions count blocks.
Tensor view(Tensor tensor, std::size_t outer, const Expr& pitch) {
  tensor.strides = pitched_strides(tensor.shape, outer, pitch);
  tensor.alignment = 16;
  return tensor;
}

struct Row {
  const char* name;
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;
  Sizes sizes;
  Precision precision = Precision::fp32_strict;
};

std::set<std::string> names_of(const Task& task) {
  std::set<std::string> names;
  for (const Tunable& tunable : templates_of(builtin_families(), task)) {
    if (serves(tunable, task)) names.insert(tunable.name);
  }
  return names;
}

const Shape plane = {"n", 4, 10, 12};

TEST_CASE("templates take views", "[views][search][threads]") {
  const Row rows[] = {
      {"a map",
       {view(input("x", {"rows", "cols"}), 1, "cols + 8"),
        view(output("y", {"rows", "cols"}), 1, "cols + 4")},
       {{"act", "relu", {"x"}, {"y"}, {}}},
       {{"rows", 33}, {"cols", 24}}},
      {"rows",
       {view(input("x", {"rows", "cols"}), 1, "cols + 8"),
        view(output("y", {"rows", "cols"}), 1, "cols + 4")},
       {{"norm", "layer_norm", {"x"}, {"y"}, {}}},
       {{"rows", 9}, {"cols", 64}}},
      {"columns",
       {view(input("x", {"n", "cols", "inner"}), 1, "cols * inner + 8"),
        view(output("y", {"n", "cols", "inner"}), 1, "cols * inner + 4")},
       {{"choice", "softmax", {"x"}, {"y"}, {{"dim", std::int64_t{1}}}}},
       {{"n", 3}, {"cols", 20}, {"inner", 16}}},
      {"a product",
       {view(input("x", {"rows", "cols"}), 1, "cols + 8"), input("w", {"n", "cols"}),
        view(output("y", {"rows", "n"}), 1, "n + 4")},
       {{"product", "linear", {"x", "w"}, {"h"}, {}}, {"act", "relu", {"h"}, {"y"}, {}}},
       {{"rows", 40}, {"cols", 64}, {"n", 72}}},
      {"a product on tensor cores",
       {view(input("x", {"rows", "cols"}), 1, "cols + 8"), input("w", {"n", "cols"}),
        view(output("y", {"rows", "n"}), 1, "n + 4")},
       {{"product", "linear", {"x", "w"}, {"h"}, {}}, {"act", "relu", {"h"}, {"y"}, {}}},
       {{"rows", 40}, {"cols", 64}, {"n", 72}},
       Precision::tf32},
      {"a convolution",
       {view(input("x", plane), 1, 528), input("w", {6, 4, 3, 3}),
        view(output("y", {"n", 6, 10, 12}), 1, 724)},
       {{"conv", "conv2d", {"x", "w"}, {"y"}, {{"padding", Integers{1, 1}}}}},
       {{"n", 2}}},
      {"a pool",
       {view(input("x", plane), 1, 528), view(output("y", {"n", 4, 5, 6}), 1, 128)},
       {{"pool",
         "max_pool2d",
         {"x"},
         {"y"},
         {{"kernel_size", Integers{2, 2}}, {"stride", Integers{2, 2}}}}},
       {{"n", 2}}},
  };
  Strategy wide;  // vectors of four elements, where a template has some
  wide.uses = {{"vector_load", {{"vector", 4}}, "", {}},
               {"vector_epilogue", {{"store_vector", 4}}, "", {}}};
  for (const Row& row : rows) {
    INFO(row.name);
    const auto task = graph_task(row.tensors, row.operations, row.sizes, row.precision);
    REQUIRE_OK(task);
    Task dense = *task;
    for (Tensor& tensor : dense.tensors) {
      tensor.strides.clear();
      tensor.alignment = Tensor().alignment;
    }
    CHECK(names_of(*task) == names_of(dense));
    for (const Tunable& tunable : templates_of(builtin_families(), *task)) {
      if (!serves(tunable, *task)) continue;
      INFO(tunable.name);
      const auto space = make_space(*task, device().device(), {tunable});
      REQUIRE_OK(space);
      for (const Strategy& wanted : {Strategy(), wide}) {
        const auto whole = (*space)->complete(wanted);
        REQUIRE_OK(whole);
        WriterBrief brief;
        brief.task = TaskRef(*task);
        brief.strategy = &whole->strategy;
        brief.device = &device().device();
        const auto source = template_writer({tunable})->write(brief);
        REQUIRE(source);
        const auto proved = prove_exposed(device(), brief.task, {{whole_task(*task), *source}},
                                          *source, ProofLevel::candidate, 1);
        REQUIRE_OK(proved);
        if (*proved) FAIL_CHECK((*proved)->message);
      }
    }
  }
}

}  // namespace
}  // namespace cupilot::testing
