// Indices of extremes of computed values: rounding chooses among values that lie close.
#include "catch.hpp"

#include "support/graph.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

using support::graph_task;
using support::input;
using support::output;

constexpr std::int64_t rows = 40, cols = 96;

// y = index of the extreme of each row of what `operations` make of x and w.
Task choice(std::vector<Operation> operations, const char* kind, Fill of_x, Fill of_w) {
  operations.push_back({"choice", kind, {"h"}, {"y"}, {{"dim", std::int64_t{1}}}});
  Tensor x = input("x", {"rows", "cols"}), w = input("w", {"cols"});
  x.fill = of_x;
  w.fill = of_w;
  const auto task = graph_task({x, w, output("y", {"rows"}, DType::i64)}, std::move(operations),
                               {{"rows", rows}, {"cols", cols}});
  if (!task) throw std::runtime_error(task.error().message);
  return *task;
}

// A sigmoid of large values: in fp32 many are 1, in the reference they differ.
Task saturated(const char* kind = "argmax") {
  return choice({{"scale", "mul", {"x", "w"}, {"z"}}, {"act", "sigmoid", {"z"}, {"h"}}}, kind, {},
                {.kind = FillKind::uniform, .low = 20, .high = 30});
}
// Sums and products, of which none are alike.
Task scaled() {
  return choice({{"scale", "mul", {"x", "w"}, {"z"}}, {"shift", "add", {"z", "w"}, {"h"}}},
                "argmax", {}, {});
}
// Zeros alone, made by no rounding.
Task zeros() {
  return choice({{"mask", "relu", {"x"}, {"z"}}, {"turn", "neg", {"z"}, {"h"}}}, "argmin",
                {.kind = FillKind::uniform, .low = -2, .high = -1}, {});
}

constexpr const char* sigmoid = "1.f / (1.f + __expf(-x[i] * w[c]))";
constexpr const char* linear = "x[i] * w[c] + w[c]";

// One thread a row: `value` of column c, chosen where `better` says so, `left` written.
KernelSource kernel(const std::string& value, const std::string& better,
                    const std::string& left = "at") {
  KernelSource source;
  source.text =
      "extern \"C\" __global__ void k(const float* x, const float* w, long long* y, int rows,\n"
      "                               int cols) {\n"
      "  const int r = blockIdx.x * 64 + threadIdx.x;\n  if (r >= rows) return;\n"
      "  float most = 0;\n  long long at = -1;\n"
      "  for (int c = 0; c < cols; ++c) {\n    const int i = r * cols + c;\n"
      "    const float v = " +
      value +
      ";\n"
      "    if (at < 0 || (" +
      better +
      ")) most = v, at = c;\n  }\n"
      "  y[r] = " +
      left + ";\n}\n";
  PlanLaunch launch;
  launch.name = launch.entry = "k";
  launch.grid = {Expr("cdiv(rows, 64)")};
  launch.block = {Expr(64)};
  for (const char* name : {"x", "w", "y"})
    launch.args.push_back({PlanArgument::Kind::name, name, 0});
  for (const char* size : {"rows", "cols"})
    launch.args.push_back({PlanArgument::Kind::i32, "", size});
  source.plan.launches = {launch};
  return source;
}

std::string verdict(const Task& task, const KernelSource& source,
                    ContentKind kind = ContentKind::ordinary) {
  const Attempt<CompiledKernel> compiled = virtual_h200().compile(source);
  if (compiled.is_error()) return "error: " + compiled.error().message;
  if (compiled.is_rejected()) return compiled.rejected().message;
  Case what;
  what.workload = task.time_shapes[0];
  what.content.seed = 3;
  what.content.kind = kind;
  return verdict_of(virtual_h200().run(TaskRef(task), *compiled, {&what, 1}));
}

constexpr const char* first_most = "v > most || (v != v && most == most)";
constexpr const char* last_most = "v >= most || (v != v && most == most)";

TEST_CASE("where rounding decides between computed values, either index is right", "[threads]") {
  CHECK(verdict(saturated(), kernel(sigmoid, first_most)).empty());
  CHECK(verdict(saturated(), kernel(sigmoid, last_most)).empty());
  CHECK(verdict(saturated("argmin"), kernel(sigmoid, "v < most")).empty());
  CHECK(verdict(scaled(), kernel(linear, first_most)).empty());
  // Values that are alike up to their rounding.
  CHECK(verdict(saturated(), kernel(sigmoid, last_most), ContentKind::constant_rows).empty());
  // An index that any order of additions would choose otherwise.
  CHECK(verdict(saturated(), kernel(sigmoid, "v < most")) == "verify.bound");
  CHECK(verdict(scaled(), kernel(linear, first_most, "at == 0 ? 1 : at - 1")) == "verify.bound");
  CHECK(verdict(scaled(), kernel("__uint_as_float(__float_as_uint(x[i]) & 0xff800000u) * w[c]",
                                 first_most)) == "verify.bound");
  CHECK(verdict(saturated(), kernel(sigmoid, first_most, "at + cols")) == "verify.bound");
  CHECK(verdict(saturated(), kernel(sigmoid, first_most, "-1")) == "verify.bound");
}

TEST_CASE("an index among exact values, or of a NaN, is the first as PyTorch's", "[threads]") {
  CHECK(verdict(zeros(), kernel("-fmaxf(x[i], 0.f)", "v < most")).empty());
  CHECK(verdict(zeros(), kernel("-fmaxf(x[i], 0.f)", "v <= most")) == "verify.bound");
  CHECK(verdict(scaled(), kernel(linear, first_most), ContentKind::special).empty());
  CHECK(verdict(scaled(), kernel(linear, "v > most"), ContentKind::special) == "verify.bound");
  CHECK(verdict(scaled(), kernel(linear, "v > most || v != v"), ContentKind::special) ==
        "verify.bound");
  CHECK(verdict(scaled(), kernel(linear, first_most), ContentKind::integers).empty());
  CHECK(verdict(scaled(), kernel(linear, last_most), ContentKind::constant_rows) == "verify.bound");
}

}  // namespace
}  // namespace cupilot
