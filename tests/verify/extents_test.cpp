// Extents of a task that are joined in one output, or that no proof shrinks.
#include <algorithm>
#include <cmath>
#include <cupilot/parts/verification.hpp>
#include <set>
#include <string_view>

#include "catch.hpp"
#include "task/content.hpp"
#include "task/rules/apply.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

TEST_CASE("where all lines are joined one element alone lies far to each side") {
  for (const bool joined : {false, true}) {
    Task task;
    task.name = task.family = "largest";
    task.axes = {{"rows", joined ? AxisKind::reduced : AxisKind::free},
                 {"cols", AxisKind::reduced}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::f32, {joined ? "1" : "rows"}, {}, {}, {}}};
    const std::vector<std::int64_t> dims =
        joined ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1};
    task.operations = {{"op", "amax", {"x"}, {"y"}, {{"dim", Attribute(dims)}}}};
    task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
    REQUIRE(complete(task));
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"1"}, .block = {32}}};
    double low = 0, high = 0;
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, false)) {
      const auto& sizes = run.workload.sizes;
      if (run.content.kind != ContentKind::scales || sizes.at("rows") * sizes.at("cols") != 1)
        continue;
      const auto params = fill_params(task, 0, run.workload, run.content);
      REQUIRE(params);
      const double value = decode(fill_bits(*params, 0), params->type);
      low = std::min(low, value), high = std::max(high, value);
    }
    CHECK((low < -1e30) == joined);
    CHECK((high > 1e29) == joined);
  }
}

TEST_CASE("extents that no proof shrinks are told where they are large") {
  for (const bool numbers : {false, true}) {
    const Expr k = numbers ? Expr(4096) : Expr("k"), n = numbers ? Expr(4096) : Expr("n");
    Task task;
    task.name = "linear";
    task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}};
    task.tensors = {Tensor{.name = "x", .role = Role::in, .shape = {"rows", k}},
                    Tensor{.name = "w", .role = Role::in, .shape = {n, k}},
                    Tensor{.name = "y", .role = Role::out, .shape = {"rows", n}}};
    task.operations = {{"product", "linear", {"x", "w"}, {"y"}, {}}};
    task.time_shapes = {{{{"rows", 64}, {"k", 4096}, {"n", 4096}}}};
    REQUIRE(complete(task));
    CHECK(large_at_the_least(task).empty() == !numbers);
  }
}

TEST_CASE("where the answer is an extreme, lines and wholes of one infinity each are met") {
  struct Row {
    const char* kind;
    bool joined, given, finite;
  };
  for (const Row& row : {Row{"amax", true, true, false},
                         {"amax", false, true, false},
                         {"amin", true, true, false},
                         {"amax", true, false, true},
                         {"sum", true, false, false},
                         {"logsumexp", false, false, false}}) {
    CAPTURE(row.kind, row.joined, row.finite);
    Task task;
    task.name = task.family = "extreme";
    task.axes = {{"rows", row.joined ? AxisKind::reduced : AxisKind::free},
                 {"cols", AxisKind::reduced}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::f32, {row.joined ? "1" : "rows"}, {}, {}, {}}};
    if (row.finite) task.tensors[0].fill.values = FillValues::finite;
    const std::vector<std::int64_t> dims =
        row.joined ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{1};
    task.operations = {{"op", row.kind, {"x"}, {"y"}, {{"dim", Attribute(dims)}}}};
    task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
    REQUIRE(complete(task));
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"1"}, .block = {32}}};
    bool low = false, high = false;
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, false)) {
      const auto& sizes = run.workload.sizes;
      if (run.content.kind != ContentKind::special || sizes.at("cols") != 1) continue;
      const auto params = fill_params(task, 0, run.workload, run.content);
      REQUIRE(params);
      for (std::int64_t i = 0; i < sizes.at("rows"); ++i) {
        const double value = decode(fill_bits(*params, i), params->type);
        low |= std::isinf(value) && value < 0;
        high |= std::isinf(value) && value > 0;
      }
    }
    CHECK(low == row.given);
    CHECK(high == row.given);
  }
}

TEST_CASE("lines of nothing but an infinity are met under a require and where windows are given") {
  struct Row {
    const char* require;
    const char* cols;
    CheckKind kind;
    FillValues values;
    std::size_t met;
    const char* text = "max_(in.x(i), in.x(i + 1))";
  };
  for (const Row& row : {Row{"cols % 4 == 0", "cols", CheckKind::bitwise, FillValues::any, 2},
                         Row{"true", "8", CheckKind::bitwise, FillValues::any, 2},
                         Row{"cols % 64 == 0", "cols", CheckKind::bitwise, FillValues::finite, 0},
                         Row{"cols % 64 == 0", "cols", CheckKind::bitwise, FillValues::range, 0},
                         Row{"true", "cols", CheckKind::bitwise, FillValues::any, 0, "in.x(i)"},
                         Row{"true", "cols", CheckKind::within, FillValues::any, 0, "in.x(i)"}}) {
    Task task;
    task.name = task.family = "most";
    task.axes = {{"rows", AxisKind::free}};
    if (std::string_view(row.cols) == "cols") task.axes.push_back({"cols", AxisKind::reduced});
    task.tensors = {{"x", Role::in, DType::f32, {"rows", row.cols}, {}, {}, {}},
                    {"y", Role::out, DType::f32, {"rows"}, {}, {}, {}}};
    task.tensors[0].fill.values = row.values;
    task.tensors[1].check.kind = row.kind;
    task.reference.text = row.text;
    task.time_shapes = {{{{"rows", 64}, {"cols", 512}}, 1}};
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"rows"}, .block = {128}}};
    if (std::string_view(row.require) != "true") source.plan.require = {row.require};
    const auto signs = [&](bool real) {
      std::set<bool> signs;
      for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 7, real)) {
        if (run.content.kind != ContentKind::infinite_lines) continue;
        const auto params = fill_params(task, 0, run.workload, run.content);
        REQUIRE(params);
        signs.insert(params->held < 0);
      }
      return signs.size();
    };
    INFO(row.require << " " << row.cols);
    CHECK(signs(false) == row.met);
    CHECK(signs(true) == 0);
  }
}

TEST_CASE("lines and windows hold nothing but an infinity, of each sign by the seed") {
  constexpr std::int64_t rows = 40, cols = 64;
  Task task;
  task.axes = {{"rows", AxisKind::free}, {"cols", AxisKind::free}};
  task.tensors = {{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}}};
  for (const std::uint64_t seed : {6, 7}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::e5m2, DType::e4m3}) {
      task.tensors[0].type = type;
      const auto params = fill_params(task, 0, {{{"rows", rows}, {"cols", cols}}},
                                      {.seed = seed, .kind = ContentKind::infinite_lines});
      REQUIRE(params);
      const auto is_infinite = [&](std::int64_t row, std::int64_t col) {
        const double value = decode(fill_bits(*params, row * cols + col), params->type);
        return std::isinf(value) && (value < 0) == (seed == 6);
      };
      std::int64_t whole = 0, windows = 0, infinite = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t here = 0;
        for (std::int64_t c = 0; c < cols; ++c) {
          here += is_infinite(r, c) ? 1 : 0;
          const bool window = r % 2 == 0 && c % 2 == 0;
          windows += window && is_infinite(r, c) && is_infinite(r, c + 1) &&
                             is_infinite(r + 1, c) && is_infinite(r + 1, c + 1)
                         ? 1
                         : 0;
        }
        whole += here == cols ? 1 : 0;
        infinite += here;
      }
      CAPTURE(static_cast<int>(type), seed);
      if (type == DType::e4m3) {  // it has no infinity
        CHECK(infinite == 0);
        continue;
      }
      CHECK(whole >= rows / 2);
      CHECK(windows > 500);
      CHECK(infinite < rows * cols - 5);
      CHECK(infinite > rows * cols - 60);
    }
  }
}

TEST_CASE("shapes that an operator does not take are not met") {
  Task task;
  task.name = task.family = "reflected";
  task.axes = {{"rows", AxisKind::free}, {"cols", AxisKind::free}};
  task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                  Tensor{"y", Role::out, DType::f32, {"rows", "cols + 7"}, {}, {}, {}}};
  task.operations = {{"op",
                      "pad",
                      {"x"},
                      {"y"},
                      {{"padding", Attribute(std::vector<std::int64_t>{3, 4})},
                       {"mode", Attribute(std::string("reflect"))}}}};
  task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
  REQUIRE(complete(task));
  KernelSource source;
  source.plan.launches = {{.name = "k", .entry = "k", .grid = {"1"}, .block = {32}}};
  for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, false))
    CHECK(run.workload.sizes.at("cols") > 4);
}

}  // namespace
}  // namespace cupilot
