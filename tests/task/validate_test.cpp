#include <functional>

#include "catch.hpp"
#include "support/gemm.hpp"

namespace cupilot {
namespace {

Task small() { return *gemm_task({.m = 8, .n = 8, .k = 8}); }

TEST_CASE("a wrong task is refused with the reason") {
  struct Case {
    const char* reason;
    std::function<void(Task&)> spoil;
  };
  const Case c = GENERATE(from_range(std::vector<Case>{
      {"has no name", [](Task& t) { t.name.clear(); }},
      {"axis 'm n' is not a name", [](Task& t) { t.axes[1].name = "m n"; }},
      {"axis '1m' is not a name", [](Task& t) { t.axes[1].name = "1m"; }},
      {"axis 'int' is a reserved word", [](Task& t) { t.axes[1].name = "int"; }},
      {"tensor 'cupilot_x' is a reserved word", [](Task& t) { t.tensors[0].name = "cupilot_x"; }},
      {"the name 'm' is used twice", [](Task& t) { t.tensors[0].name = "m"; }},
      {"reference: there is none", [](Task& t) { t.reference.text.clear(); }},
      {"does not define reference_D", [](Task& t) { t.reference.text = "int x;"; }},
      {"tensors: none is an output", [](Task& t) { t.tensors.back().role = Role::in; }},
      {"tensors[0].shape: tensor 'A' has 0 dimensions",
       [](Task& t) { t.tensors[0].shape.clear(); }},
      {"9 dimensions", [](Task& t) { t.tensors[0].shape.assign(9, 1); }},
      {"tensors[0].strides: tensor 'A' has 2 strides for 3 dimensions",
       [](Task& t) {
         t.tensors[0].strides = {1, 1};
       }},
      {"unknown name 'q'", [](Task& t) { t.tensors[0].shape[0] = "q"; }},
      {"extent \"m-9\" is negative", [](Task& t) { t.tensors[0].shape[0] = "m-9"; }},
      {"tensor 'A' is empty",
       [](Task& t) {
         t.tensors[0].shape[0] = "m-8";
         t.check_shapes.clear();
       }},
      {"structure needs two dimensions",
       [](Task& t) {
         t.tensors[0].shape = {"m"};
         t.tensors[0].fill.structure = Structure::upper;
       }},
      {"symmetric or diagonal but not square",
       [](Task& t) {
         t.tensors[0].shape = {"m", "2*m"};
         t.tensors[0].fill.structure = Structure::symmetric;
       }},
      {"tensors[0].fill.below: is 0", [](Task& t) { t.tensors[0].fill.kind = FillKind::integers; }},
      {"tensors[0].fill.low: tensor 'A': 2 is above fill.high, 1",
       [](Task& t) { t.tensors[0].fill = {.kind = FillKind::uniform, .low = 2}; }},
      {"check.kind: output 'D': custom has no judge",
       [](Task& t) { t.tensors.back().check.kind = CheckKind::custom; }},
      {"check: output 'D': close needs",
       [](Task& t) { t.tensors.back().check.kind = CheckKind::close; }},
      {"check.of: output 'D': 'Z' is no tensor",
       [](Task& t) { t.tensors.back().check = {.kind = CheckKind::index_of, .of = "Z"}; }},
      {"check.length: is 0", [](Task& t) { t.tensors.back().check.length = "k-k"; }},
      {"names 'Z', which is no tensor", [](Task& t) { t.operations[0].inputs[0] = "Z"; }},
      {"time_shapes: is empty", [](Task& t) { t.time_shapes.clear(); }},
      {"axis 'm' has no size", [](Task& t) { t.time_shapes[0].sizes.erase("m"); }},
      {"time_shapes[0].sizes.m: 0 is below 1", [](Task& t) { t.time_shapes[0].sizes["m"] = 0; }},
      {"check_shapes[0].sizes.q: is no axis", [](Task& t) { t.check_shapes[0].sizes["q"] = 1; }},
      {"time_shapes[0].weight: 0 is not positive", [](Task& t) { t.time_shapes[0].weight = 0; }},
      {"scalars[0].value: scalar 'alpha' is not finite",
       [](Task& t) { t.scalars[0].value = 1.0 / 0.0; }},
      {"work.flops", [](Task& t) { t.work.flops = "1/0"; }},
  }));
  Task task = small();
  REQUIRE(validate(task));
  c.spoil(task);
  const auto answer = validate(task);
  INFO(c.reason);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::usage);
  CHECK_THAT(answer.error().message, Catch::Contains(c.reason));
  CHECK_FALSE(answer.error().hint.empty());
}

TEST_CASE("numbers of a tensor") {
  Task task = small();
  Tensor tensor{.name = "X", .type = DType::bf16, .shape = {"m", 3}, .strides = {"up(3,4)", 1}};
  const auto padded = shape_of(task, tensor, task.time_shapes[0]);
  REQUIRE(padded);
  CHECK(padded->elements == 24);
  CHECK(padded->span == 7 * 4 + 2 + 1);
  tensor.strides.clear();
  CHECK(shape_of(task, tensor, task.time_shapes[0])->strides == std::vector<std::int64_t>{3, 1});
  tensor.shape = {0, "m"};
  CHECK(shape_of(task, tensor, task.time_shapes[0])->span == 0);
}

}  // namespace
}  // namespace cupilot
