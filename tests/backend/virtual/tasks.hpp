// Small tasks and kernels that the tests of the virtual device share.
#pragma once

#include <cupilot/backend.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/task.hpp>

#include <stdexcept>
#include <string>

#include "backend/devices.hpp"
#include "support/kept_images.hpp"

namespace cupilot {

inline Backend& virtual_h200() {
  static Result<std::unique_ptr<Backend>> opened = [] {
    BackendOptions options = testing::kept_images();
    options.compile_jobs = 1;
    return open_virtual("h200", options);
  }();
  if (!opened) throw std::runtime_error(opened.error().message);
  return **opened;
}

// y[r] = sum of row r of x.
inline Task row_sum_task(std::int64_t rows, std::int64_t columns) {
  Task task;
  task.name = task.family = "row_sum";
  task.axes = {{"rows", AxisKind::free}, {"cols", AxisKind::reduced}};
  Tensor x{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}};
  Tensor y{"y", Role::out, DType::f32, {"rows"}, {}, {}, {}};
  y.check.length = "cols";
  task.tensors = {x, y};
  task.operations = {{"sum", "row_sum", {"x"}, {"y"}}};
  task.time_shapes = {{{{"rows", rows}, {"cols", columns}}, 1}};
  task.work.flops = "rows*cols";
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long index) {\n"
      "  real sum = real(0.0);\n"
      "  for (long long c = 0; c < in.cols; ++c) sum = sum + in.x(index * in.cols + c);\n"
      "  return sum;\n}\n";
  return task;
}

// One block of 128 threads a row; buffers may be added by the caller.
inline KernelSource row_sum_source(const std::string& text) {
  KernelSource source;
  source.text = text;
  PlanLaunch launch;
  launch.name = launch.entry = "k";
  launch.grid = {Expr("rows")};
  launch.block = {Expr(128)};
  const auto name = [](const char* what) {
    return PlanArgument{PlanArgument::Kind::name, what, 0};
  };
  const auto number = [](const char* what) {
    return PlanArgument{PlanArgument::Kind::i32, "", what};
  };
  launch.args = {name("x"), name("y"), number("rows"), number("cols")};
  source.plan.launches = {launch};
  return source;
}

inline const char* const row_sum_head =
    "extern \"C\" __global__ void k(const float* x, float* y, int rows, int cols) ";
inline const char* const row_sum_honest = R"({
  __shared__ float s[128];
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += x[blockIdx.x * cols + c];
  s[t] = a;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
})";

// The first thing wrong with a report: a fault's code, verify.never_written, verify.bound; "" when
// all is well.
inline std::string verdict_of(const Result<TrialReport>& report) {
  if (!report) return "error: " + report.error().message;
  for (const CaseReport& one : report->cases) {
    if (!one.faults.empty()) return one.faults[0].code;
    for (const OutputReport& output : one.outputs) {
      if (output.never_written > 0) return "verify.never_written";
      if (output.failed > 0) return "verify.bound";
      if (output.compared == 0) return "nothing compared";
    }
  }
  return "";
}

}  // namespace cupilot
