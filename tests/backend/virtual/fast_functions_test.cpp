// Functions of the special function unit in kernels whose results have 16 bits: within the bounds
// on every content, special values included.
#include <cupilot/family.hpp>

#include "support/graph.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

Task one_operator(const std::string& kind, DType type, Precision precision,
                  DType result = DType::f64) {
  const bool pair = kind == "div" || kind == "remainder" || kind == "gt";
  auto task =
      graph_task({input("x", {"rows", "cols"}, type), input("b", {"rows", "cols"}, type),
                  output("y", {"rows", "cols"}, result == DType::f64 ? type : result)},
                 {{"keep", "add", {"x", "b"}, {"h"}},
                  {"one",
                   kind,
                   pair ? std::vector<std::string>{"h", "b"} : std::vector<std::string>{"h"},
                   {"y"}}},
                 {{"rows", 17}, {"cols", 24}}, precision);
  if (!task) FAIL(task.error().message);
  return *task;
}

bool is_fast(const Task& task) {
  for (const Tunable& tunable : templates_of(builtin_families(), task)) {
    if (tunable.name == "pointwise")
      return tunable.text.find("using real = Fast;") != std::string::npos;
  }
  FAIL("no pointwise template");
  return false;
}

TEST_CASE("functions of 16 bits are the special function unit's where class and results allow",
          "[hooks]") {
  CHECK(is_fast(one_operator("silu", DType::bf16, Precision::bf16)));
  CHECK(is_fast(one_operator("silu", DType::f16, Precision::fp16)));
  CHECK_FALSE(is_fast(one_operator("silu", DType::f32, Precision::fp32_strict)));
  CHECK_FALSE(is_fast(one_operator("silu", DType::bf16, Precision::bf16, DType::f32)));
  CHECK_FALSE(is_fast(one_operator("silu", DType::bf16, Precision::fp32_strict)));
  // A quotient's last bit would lead to another whole number, or to the other side of a threshold.
  for (const char* kind :
       {"floor", "ceil", "trunc", "round", "sign", "remainder", "softplus", "gt"}) {
    INFO(kind);
    CHECK_FALSE(is_fast(one_operator(kind, DType::bf16, Precision::bf16)));
  }
  CHECK(is_fast(one_operator("elu", DType::bf16, Precision::bf16)));
}

TEST_CASE("functions of the special function unit are right", "[hooks][threads]") {
  for (const char* kind : {"silu", "sigmoid", "exp", "sqrt", "rsqrt", "reciprocal", "div", "mish",
                           "gelu", "elu", "softplus", "tanh", "hardswish", "softsign"}) {
    INFO(kind);
    check_accepted(one_operator(kind, DType::bf16, Precision::bf16), "pointwise", {{"VECTOR", 8}});
    check_accepted(one_operator(kind, DType::f16, Precision::fp16), "pointwise", {{"VECTOR", 4}});
  }
}

TEST_CASE("norms and softmaxes of 16 bits are right", "[hooks][threads]") {
  for (const char* kind : {"softmax", "log_softmax", "layer_norm", "rms_norm"}) {
    INFO(kind);
    const bool norm = std::string(kind).ends_with("norm");
    auto task = graph_task(
        {input("x", {"rows", "cols"}, DType::bf16), output("y", {"rows", "cols"}, DType::bf16)},
        {{"one",
          kind,
          {"x"},
          {"h"},
          norm ? std::map<std::string, Attribute>{}
               : std::map<std::string, Attribute>{{"dim", std::int64_t{1}}}},
         {"gate", "silu", {"h"}, {"y"}}},
        {{"rows", 9}, {"cols", 312}}, Precision::bf16);
    if (!task) FAIL(task.error().message);
    check_accepted(*task, "rowwise", {{"TEAM", 32}, {"ITEMS", 2}, {"VECTOR", 8}});
  }
}

}  // namespace
}  // namespace cupilot
