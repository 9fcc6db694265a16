// Tasks whose check cannot tell right from wrong are refused before anything is searched.
#include <cupilot/parts/checker_power.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"
#include "support/sanitized.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

std::string refusal(const Task& task) {
  const auto report = check_power(TaskRef(task), virtual_h200());
  return report ? "" : report.error().message;
}

TEST_CASE("Built-in tasks have checks with power") {
  struct Row {
    GemmSpec spec;
    int fakes;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {{.m = 512, .n = 512, .k = 512}, 15},
      {{.precision = Precision::fp32_emulated}, 12},
      {{.precision = Precision::bf16x3}, 9},
      {{.precision = Precision::tf32}, 7},
      {{.precision = Precision::bf16}, 7},
      {{.dtype = DType::bf16}, 7},
      {{.dtype = DType::f16}, 7},
      {{.dtype = DType::bf16, .out = DType::f32}, 7},
      {{.layout = "tt", .alpha = 0.5, .beta = 2, .bias = true, .act = Activation::gelu}, 15},
      {{.act = Activation::relu}, 13},
      {{.act = Activation::silu}, 13},
      {{.k = 64, .act = Activation::tanh}, 12},
      {{.k = 64, .act = Activation::sigmoid}, 12},
      {{.m = 1, .n = 1, .k = 100000}, 5},
      {{.m = 64, .n = 64, .k = 4096, .dtype = DType::bf16, .alpha = 2, .beta = 0.1},
       10},  // a summand beside long sums
      {{.m = 4096, .n = 4096, .k = 4096, .batch = 4}, 15},
  }));
  const auto task = gemm_task(row.spec);
  REQUIRE(task);
  const auto report = check_power(TaskRef(*task), virtual_h200());
  INFO(task_to_json(*task)->substr(0, 300));
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  for (const std::string& line : report->exempt) UNSCOPED_INFO(line);
  CHECK(report->fakes >= row.fakes);
}

TEST_CASE("The corpus' tasks have checks with power") {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/hostile/tasks")) {
    if (entry.path().extension() == ".json") files.insert(entry.path().string());
  }
  int count = 0;
  for (const std::string& file : files) {
    if (testing::sanitized() && count++ % 3 != 0) continue;
    const auto task = load_task(file);
    REQUIRE(task);
    INFO(file);
    CHECK(refusal(*task) == "");
  }
}

Task with_reference(std::int64_t rows, std::int64_t columns, const std::string& result) {
  Task task = row_sum_task(rows, columns);
  std::string& text = task.reference.text;
  text.replace(text.find("return sum;"), 11, result);
  return task;
}

TEST_CASE("Each input needs one output that sees it, not all of them") {
  const auto task = support::graph_task(
      {support::input("x", {"rows", "cols"}), support::input("r", {"rows", "cols"}),
       support::output("y", {"rows", "cols"}), support::output("m", {"rows"})},
      {{"skip", "add", {"x", "r"}, {"y"}},
       {"mean", "mean", {"x"}, {"m"}, {{"dim", std::vector<std::int64_t>{1}}}}},
      {{"rows", 16}, {"cols", 64}});
  REQUIRE(task);
  CHECK(refusal(*task) == "");
}

TEST_CASE("A flag that random flags nearly always raise is told from a constant") {
  Task task = with_reference(16, 64, "return sum > real(0.0) ? real(1.0) : real(0.0);");
  task.precision = Precision::integer;
  task.tensors[0].type = task.tensors[1].type = DType::boolean;
  task.tensors[0].fill = {.kind = FillKind::boolean};
  task.tensors[1].check = {.kind = CheckKind::bitwise};
  std::string& text = task.reference.text;
  const std::string term = "in.x(index * in.cols + c)";
  text.replace(text.find(term), term.size(), "real(double(in.x(index * in.cols + c)))");
  CHECK(refusal(task) == "");
}

TEST_CASE("An input that operators give no influence is a remark") {
  // A number added to a whole row before its softmax.
  const auto task =
      support::graph_task({support::input("x", {"rows", "cols"}), support::input("s", {"rows", 1}),
                           support::output("y", {"rows", "cols"})},
                          {{"shift", "add", {"x", "s"}, {"h"}}, {"soft", "softmax", {"h"}, {"y"}}},
                          {{"rows", 16}, {"cols", 64}});
  REQUIRE(task);
  CHECK(refusal(*task) == "");
}

const std::vector<std::string>& exempt_of(const Task& task) {
  static std::vector<std::string> exempt;
  const auto report = check_power(TaskRef(task), virtual_h200());
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  exempt = report->exempt;
  return exempt;
}

bool has(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

// KernelBench level 2, task 17: a norm takes away what is added to a channel.
TEST_CASE("An input that algebra takes away but for its last bits is a remark") {
  using support::input, support::output;
  const auto task = support::graph_task(
      {input("x", {"n", "c", "h", "w"}), input("b", {"c", 1, 1}),
       output("y", {"n", "c", "h", "w"})},
      {{"shift", "add", {"x", "b"}, {"s"}}, {"norm", "instance_norm", {"s"}, {"y"}}},
      {{"n", 2}, {"c", 5}, {"h", 6}, {"w", 7}});
  REQUIRE(task);
  CHECK(has(exempt_of(*task), "b moves no output"));
}

// KernelBench level 2, task 56: a sum of many sigmoids moves little.
TEST_CASE("What the bound of a graph does not tell of last bits is a remark") {
  using support::input, support::output;
  const std::vector<std::int64_t> last = {1};
  std::vector<Tensor> tensors = {input("x", {"n", "k"}), input("w", {"o", "k"}),
                                 output("y", {"n"})};
  tensors[0].fill = {.kind = FillKind::uniform, .low = 0, .high = 1};
  tensors[1].fill = {.kind = FillKind::uniform, .low = -0.09, .high = 0.09};
  const std::vector<Operation> operations = {{"product", "linear", {"x", "w"}, {"h"}},
                                             {"act", "sigmoid", {"h"}, {"a"}},
                                             {"total", "sum", {"a"}, {"y"}, {{"dim", last}}}};
  const auto task = support::graph_task(tensors, operations, {{"n", 32}, {"k", 128}, {"o", 96}});
  REQUIRE(task);
  CHECK(has(exempt_of(*task), "inputs rounded to tf32: the bound of the graph does not tell"));

  // A constant is refused all the same.
  auto flat = operations;
  flat.push_back({"less", "sub", {"a", "a"}, {"zero"}});
  std::swap(flat[2], flat[3]);
  flat[3].inputs = {"zero"};
  const auto nothing = support::graph_task(tensors, flat, {{"n", 32}, {"k", 128}, {"o", 96}});
  REQUIRE(nothing);
  CHECK(refusal(*nothing).find("accepts zeros") != std::string::npos);
}

TEST_CASE("Zeros within the bound of a deep graph are a remark, as honest executions tell them") {
  const auto task = support::deep_task(6, 32, 64);
  REQUIRE(task);
  const auto report = check_power(TaskRef(*task), virtual_h200());
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  CHECK(has(report->exempt, "zeros: the bound of the graph does not tell; errors of honest"));
  CHECK(has(report->shown, "errors of honest executions, not the bound of the graph"));
}

TEST_CASE("Inputs of a deep graph are moved as long as it is cheap") {
  const auto task = support::deep_task(10, 32, 0, false, 256);
  REQUIRE(task);
  const auto report = check_power(TaskRef(*task), virtual_h200());
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  CHECK(has(report->exempt, "the first: what they move is too dear to try"));
}

// The mean behind a convolution, as a part of KernelBench level 2, task 23.
TEST_CASE("Means of whole volumes are fit though they average roundings out") {
  using support::input, support::output;
  const auto task = support::graph_task(
      {input("x", {"n", "c", "d", "h", "w"}), output("y", {"n"})},
      {{"mean", "mean", {"x"}, {"y"}, {{"dim", std::vector<std::int64_t>{1, 2, 3, 4}}}}},
      {{"n", 2}, {"c", 8}, {"d", 6}, {"h", 7}, {"w", 8}});
  REQUIRE(task);
  CHECK(has(exempt_of(*task), "sums of many lines average roundings of inputs out"));
}

TEST_CASE("Degenerate tasks are refused by the fake that passes") {
  struct Row {
    const char* what;
    std::function<Task()> task;
    const char* reason;
  };
  const Row row = GENERATE(from_range(std::vector<Row>{
      {"tiny outputs under an absolute tolerance",
       [] {
         Task task = with_reference(
             16, 400, "return exp_(in.x(index * in.cols)) / (exp_(sum) + real(1e6));");
         task.tensors[1].check = {.kind = CheckKind::close, .relative = 1e-2, .absolute = 1e-2};
         return task;
       },
       "hardly sees input x"},
      {"a maximum minus itself", [] { return with_reference(16, 64, "return sum - sum;"); },
       "accepts zeros"},
      {"an input that never matters",
       [] {
         Task task = row_sum_task(16, 64);
         task.tensors.insert(task.tensors.begin() + 1, {.name = "w", .shape = {"cols"}});
         return task;
       },
       "cannot see input w"},
      {"weights of zeros",
       [] {
         Task task = row_sum_task(16, 64);
         task.tensors.insert(task.tensors.begin() + 1,
                             {.name = "w", .shape = {"cols"}, .fill = {.kind = FillKind::zeros}});
         std::string& text = task.reference.text;
         text.replace(text.find("sum + in.x(index * in.cols + c)"), 31,
                      "sum + in.x(index * in.cols + c) * (real(1.0) + in.w(c))");
         return task;
       },
       "cannot see input w"},
      {"the mean of what was made to have none",
       [] {
         return with_reference(16, 64,
                               "real mean = sum / real(64.0); real total = real(0.0);\n"
                               "  for (long long c = 0; c < in.cols; ++c) total = total + "
                               "(in.x(index * in.cols + c) - mean);\n"
                               "  return total / real(64.0);");
       },
       "accepts zeros"},
      {"a tolerance as wide as the values",
       [] {
         Task task = row_sum_task(16, 64);
         task.tensors[1].check = {.kind = CheckKind::close, .relative = 0.5, .absolute = 40};
         return task;
       },
       "hardly sees input x"},
      {"one value everywhere", [] { return with_reference(16, 64, "return real(3.0);"); },
       "accepts its mean everywhere"},
  }));
  INFO(row.what);
  const Task task = row.task();
  REQUIRE(validate(task));
  const std::string message = refusal(task);
  INFO(message);
  CHECK(message.find(row.reason) != std::string::npos);
}

TEST_CASE("A result that 16 bits hold is itself when it is rounded to as many") {
  using support::input, support::output;
  const auto relu = [](DType type) {
    auto task = support::graph_task({input("x", {"rows", "cols"}), output("y", {"rows", "cols"})},
                                    {{"relu", "relu", {"x"}, {"y"}}}, {{"rows", 16}, {"cols", 64}});
    REQUIRE(task);
    task->tensors[0].type = type;
    return *task;
  };
  const std::string itself = "the result rounded to tf32: it is the right result itself";
  CHECK(has(exempt_of(relu(DType::f16)), itself));
  CHECK(has(exempt_of(relu(DType::bf16)), itself));
  CHECK_FALSE(has(exempt_of(relu(DType::f32)), itself));
}

TEST_CASE("An output of 16-bit inputs alone need not tell that others are rounded") {
  using support::input, support::output;
  auto task =
      support::graph_task({input("x", {"rows", "cols"}), input("w", {"cols"}),
                           output("y", {"rows", "cols"}), output("m", {"rows"})},
                          {{"scale", "mul", {"x", "w"}, {"y"}},
                           {"mean", "mean", {"x"}, {"m"}, {{"dim", std::vector<std::int64_t>{1}}}}},
                          {{"rows", 16}, {"cols", 64}});
  REQUIRE(task);
  CHECK_FALSE(has(exempt_of(*task), "no input that this rounds moves it"));
  task->tensors[0].type = DType::bf16;
  CHECK(has(exempt_of(*task), "m: inputs rounded to tf32: no input that this rounds moves it"));
  CHECK_FALSE(has(exempt_of(*task), "y: inputs rounded to tf32"));
}

TEST_CASE("An output of whole numbers is told whole numbers") {
  for (const char* kind : {"sin", "sign"}) {
    Task task;
    task.name = task.family = "whole";
    task.axes = {{"rows", AxisKind::free}, {"cols", AxisKind::free}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::i8, {"rows", "cols"}, {}, {}, {}}};
    task.tensors[1].check.kind = CheckKind::bitwise;
    task.operations = {{"op", kind, {"x"}, {"y"}, {}}};
    task.time_shapes = {{{{"rows", 20}, {"cols", 64}}}};
    REQUIRE(complete(task));
    const std::string reason = refusal(task);
    if (kind == std::string("sign"))
      CHECK(reason.empty());
    else
      CHECK_THAT(reason, Catch::Contains("which is no i8"));
  }
}

TEST_CASE("One number that is a difference of sums is fit though they hide its last bits") {
  Task task;
  task.name = task.family = "triplet";
  task.axes = {{"rows", AxisKind::reduced}, {"cols", AxisKind::reduced}};
  for (const char* name : {"a", "p", "n"})
    task.tensors.push_back(Tensor{name, Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}});
  task.tensors.push_back(Tensor{"y", Role::out, DType::f32, {1}, {}, {}, {}});
  task.operations = {{"op", "triplet_margin_loss", {"a", "p", "n"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 64}, {"cols", 128}}}};
  REQUIRE(complete(task));
  CHECK(refusal(task) == "");
}

TEST_CASE("A flag of what is not finite is told from a constant") {
  Task task =
      with_reference(16, 64, "return isnan_(sum - sum) != real(0.0) ? real(1.0) : real(0.0);");
  task.tensors[1].type = DType::boolean;
  task.tensors[1].check = {.kind = CheckKind::bitwise};
  CHECK(refusal(task) == "");
  task.tensors[0].fill.values = FillValues::finite;
  CHECK(refusal(task).find("accepts") != std::string::npos);
}

TEST_CASE("One sum of everything is fit though it averages roundings out") {
  using support::input, support::output;
  auto task = support::graph_task(
      {input("x", {"rows", "cols"}), input("t", {"rows", "cols"}), output("y", {1})},
      {{"sub", "sub", {"x", "t"}, {"d"}},
       {"square", "mul", {"d", "d"}, {"s"}},
       {"mean", "mean", {"s"}, {"y"}}},
      {{"rows", 128}, {"cols", 128}});
  REQUIRE(task);
  const auto report = check_power(TaskRef(*task), virtual_h200());
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  CHECK(std::any_of(report->exempt.begin(), report->exempt.end(), [](const std::string& line) {
    return line.find("averages roundings of inputs out") != std::string::npos;
  }));
}

TEST_CASE("Sums that a text does anew for each element are cut where extents are products") {
  Task task = row_sum_task(1024, 8192);
  task.tensors[1].shape = {"rows", "8*cols"};
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) {\n"
      "  const long long r = i / (8 * in.cols);\n"
      "  real sum = real(0.0);\n"
      "  for (long long c = 0; c < in.cols; ++c) sum += in.x(r * in.cols + c);\n"
      "  return sum * real(double(1 + i % 3));\n"
      "}\n";
  const auto report = check_power(TaskRef(task), virtual_h200());
  INFO((report ? "" : report.error().message));
  REQUIRE(report);
  const Sizes& sizes = report->workload.sizes;
  CHECK(sizes.at("rows") * 8 * sizes.at("cols") * sizes.at("cols") <= 300000);
}

TEST_CASE("A task's power is tested once") {
  const Task task = row_sum_task(20, 77);
  const auto first = check_power(TaskRef(task), virtual_h200()),
             again = check_power(TaskRef(task), virtual_h200());
  REQUIRE(first);
  REQUIRE(again);
  CHECK(first->seconds == again->seconds);
  CHECK(first->task == task_id(task));
  REQUIRE(first->shown.size() == 1);
  CHECK(first->shown[0].find("a tenth of x moves it") != std::string::npos);
}

}  // namespace
}  // namespace cupilot
