// Passes over a row's elements: which folds share one, and the floats that a thread keeps of each.
#include "program/hooks/passes.hpp"

#include "catch.hpp"
#include "support/graph.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

using Forms = std::vector<std::vector<FoldPass::Form>>;
constexpr auto terms = FoldPass::Form::terms, squares = FoldPass::Form::squares,
               place = FoldPass::Form::place;

struct Passes {
  Forms forms{};
  std::vector<int> sizes{};
  bool operator==(const Passes&) const = default;
};

// Passes of operations over x, reduced along cols: its last dimension, or an inner one.
Passes passes(std::vector<Operation> operations, const std::vector<std::string>& outputs,
              bool inner) {
  std::vector<Expr> shape = {"a", "cols"}, kept = {"a"};
  Sizes sizes = {{"a", 3}, {"cols", 40}};
  if (inner) {
    shape.push_back("b");
    kept.push_back("b");
    sizes["b"] = 6;
  }
  std::vector<Tensor> tensors = {input("x", shape)};
  for (const std::string& name : outputs) tensors.push_back(output(name, kept));
  for (Operation& operation : operations)
    operation.attributes["dim"] = std::vector<std::int64_t>{1};
  const auto task = graph_task(std::move(tensors), std::move(operations), std::move(sizes));
  REQUIRE(task);
  const auto site = graph_site(*task);
  REQUIRE(site);
  CHECK((site->form == GraphForm::columns) == inner);
  Passes out;
  for (const FoldPass& pass : passes_of(*task, *site)) {
    out.sizes.push_back(pass.size);
    out.forms.emplace_back();
    for (const FoldPass::Member& member : pass.members) out.forms.back().push_back(member.form);
  }
  return out;
}

TEST_CASE("the place of an extreme takes no pass of its own") {
  for (const bool inner : {false, true}) {
    for (const char* kind : {"argmax", "argmin"}) {
      CHECK(passes({{"arg", kind, {"x"}, {"y"}}}, {"y"}, inner) == Passes{{{terms, place}}, {2}});
    }
    CHECK(passes({{"both", "max_dim", {"x"}, {"y", "z"}}}, {"y", "z"}, inner) ==
          Passes{{{terms, place}}, {2}});
  }
}

TEST_CASE("independent folds share a pass, and squares one with their mean in rows alone") {
  const std::vector<Operation> two = {{"most", "amax", {"x"}, {"y"}}, {"sum", "sum", {"x"}, {"z"}}};
  for (const bool inner : {false, true})
    CHECK(passes(two, {"y", "z"}, inner) == Passes{{{terms, terms}}, {2}});
  const std::vector<Operation> variance = {{"var", "var", {"x"}, {"y"}}};
  CHECK(passes(variance, {"y"}, false) == Passes{{{terms, squares}}, {4}});
  CHECK(passes(variance, {"y"}, true) == Passes{{{terms}, {terms}}, {1, 1}});
}

TEST_CASE("several pairs share a pass") {
  CHECK(passes({{"arg", "argmax", {"x"}, {"y"}}, {"least", "argmin", {"x"}, {"z"}}}, {"y", "z"},
               false) == Passes{{{terms, place, terms, place}}, {4}});
}

}  // namespace
}  // namespace cupilot
