
#include <thread>

#include "backend/oracle/reference_values.hpp"
#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/reached.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from);
  return text.replace(at, from.size(), to);
}

std::string verdict(const KernelSource& source, const Task& task) {
  const Attempt<CompiledKernel> kernel = virtual_h200().compile(source);
  if (kernel.is_error()) return "error: " + kernel.error().message;
  if (kernel.is_rejected()) {
    UNSCOPED_INFO(kernel.rejected().message);
    return kernel.rejected().code;
  }
  Case what;
  what.workload = task.time_shapes[0];
  what.content.seed = 3;
  return verdict_of(virtual_h200().run(TaskRef(task), *kernel, {&what, 1}));
}

struct Mutant {
  const char* name;
  const char* from;
  const char* to;
  const char* code;
};

TEST_CASE("Wrong kernels are rejected with the right code", "[threads]") {
  const auto m = GENERATE(values<Mutant>({
      {"honest", "{", "{", ""},
      {"tail not computed", "c < cols", "c < cols / 128 * 128", "verify.bound"},
      {"off by one", "c < cols", "c < cols - 1", "verify.bound"},
      {"last row skipped", "{\n", "{\n  if (blockIdx.x == rows - 1) return;\n",
       "verify.never_written"},
      {"nothing done", "{\n", "{\n  if (rows > 0) return;\n", "verify.never_written"},
      {"no barrier", "s[t] = a;\n  __syncthreads();", "s[t] = a;", "run.race"},
      {"barrier missing in the loop", "s[t] += s[t + h];\n    __syncthreads();",
       "s[t] += s[t + h];", "run.race"},
      {"shared memory not filled", "s[t] = a;", "if (t < 100) s[t] = a;", "run.uninitialised"},
      {"write to an input", "s[t] = a;", "s[t] = a; ((float*)x)[0] = 0;", "run.input_write"},
      {"input changed and restored", "s[t] = a;", "s[t] = a; *(volatile float*)(x + t) = x[t];",
       "run.input_write"},
      {"reads its own output", "= s[0];", "= y[blockIdx.x] * 0 + s[0];", "run.uninitialised"},
      {"adds to its output", "= s[0];", "+= s[0];", "run.uninitialised"},
      {"reads past the end", "c < cols", "c < cols + 128", "run.out_of_bounds"},
      {"guard <= for <", "c < cols", "c <= cols", "run.out_of_bounds"},
      {"writes past the end", "y[blockIdx.x] =", "y[blockIdx.x + 1] =", "run.out_of_bounds"},
      {"writes before the start", "y[blockIdx.x] =", "y[-1] =", "run.out_of_bounds"},
      {"no end", "float a = 0;",
       "float a = 0; while (*(volatile const float*)x != 12345.f) a += 1;", "run.budget"},
      {"barrier for half a block", "s[t] = a;", "s[t] = a; if (t < 64) __syncthreads();",
       "run.divergence"},
      {"misaligned vector", "s[t] = a;",
       "float4 v = *(const float4*)(x + 1); s[t] = a + v.x + v.y + v.z + v.w;", "run.misaligned"},
      {"infinity for a value", "= s[0];", "= __int_as_float(0x7f800000);", "verify.bound"},
      {"NaN for a value", "= s[0];", "= __int_as_float(0x7fc00000);", "verify.bound"},
      {"zeros", "= s[0];", "= 0.f;", "verify.bound"},
      {"operands cut to bf16", "a += x[blockIdx.x * cols + c]",
       "a += __uint_as_float(__float_as_uint(x[blockIdx.x * cols + c]) & 0xffff0000u)",
       "verify.bound"},
      {"summed in fp16", "s[t] = a;",
       "s[t] = a; asm volatile(\"{.reg .b16 h; cvt.rn.f16.f32 h, %0; add.rn.f16 h, h, h;}\" :: "
       "\"f\"(a));",
       "gate.precision"},
  }));
  INFO(m.name);
  const Task task = row_sum_task(37, 200);
  testing::expect_code(
      verdict(row_sum_source(row_sum_head + replaced(row_sum_honest, m.from, m.to)), task), m.code);
}

TEST_CASE("Bad arguments are refused before anything runs") {
  const Task task = row_sum_task(5, 40);
  KernelSource source = row_sum_source(std::string(row_sum_head) + row_sum_honest);
  SECTION("more shared memory than a block may have") {
    source.plan.launches[0].shared = 300000;
    testing::expect_code(verdict(source, task), "plan.limit");
  }
  SECTION("a name of nothing") {
    source.plan.launches[0].args[0].name = "z";
    testing::expect_code(verdict(source, task), "plan.name");
  }
  SECTION("a tensor where an integer is declared") {
    source.plan.launches[0].args[2] = {PlanArgument::Kind::name, "x", 0};
    testing::expect_code(verdict(source, task), "gate.parameters");
  }
  SECTION("not for this shape is no fault") {
    source.plan.require = {Expr("cols % 64 == 0")};
    const Attempt<CompiledKernel> kernel = virtual_h200().compile(source);
    REQUIRE(kernel);
    Case what;
    what.workload = task.time_shapes[0];
    const auto report = virtual_h200().run(TaskRef(task), *kernel, {&what, 1});
    REQUIRE(report);
    CHECK(report->cases[0].not_for_this_shape);
    CHECK(report->cases[0].faults.empty());
  }
}

const char* const counted =
    R"(extern "C" __global__ void k(const float* x, float* y, int rows, int cols, unsigned* count, float* part) {
  const int t = threadIdx.x;
  float a = 0;
  for (int c = t; c < cols; c += 128) a += x[blockIdx.x * cols + c];
  part[blockIdx.x * 128 + t] = a;
  __threadfence();
  __shared__ bool last;
  __syncthreads();
  if (t == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  for (int r = t; r < rows; r += 128) {
    float sum = 0;
    for (int i = 0; i < 128; ++i) sum += __ldcg(part + r * 128 + i);
    y[r] = sum;
  }
  if (t == 0) *count = RESET;
})";

TEST_CASE("Buffers: restored ones are checked, scratch is poisoned, zeroed is zero") {
  const Task task = row_sum_task(9, 150);
  const auto source = [&](const std::string& reset, BufferContent content) {
    KernelSource made = row_sum_source("#define RESET " + reset + "\n" + counted);
    made.plan.buffers = {{"count", 4, content},
                         {"part", Expr("rows*128*4"), BufferContent::scratch}};
    for (const char* name : {"count", "part"})
      made.plan.launches[0].args.push_back({PlanArgument::Kind::name, name, 0});
    return made;
  };
  CHECK(verdict(source("0", BufferContent::restored), task).empty());
  testing::expect_code(verdict(source("7", BufferContent::restored), task), "run.state");
  CHECK(verdict(source("7", BufferContent::zeroed), task).empty());
  testing::expect_code(verdict(source("0", BufferContent::scratch), task), "run.uninitialised");
}

TEST_CASE("A table holds what setup wrote, and a plan's memory has an end", "[threads]") {
  const Task task = row_sum_task(9, 150);
  const auto source = [&](const std::string& filled, const Expr& bytes) {
    KernelSource made = row_sum_source(
        "extern \"C\" __global__ void fill(float* kept, int rows) { if (threadIdx.x < " + filled +
        ") kept[threadIdx.x] = 0; }\n" +
        "extern \"C\" __global__ void k(const float* x, float* y, int rows, int cols, const float* "
        "kept) {\n"
        "  float a = kept[blockIdx.x];\n  for (int c = 0; c < cols; ++c) a += x[blockIdx.x * cols "
        "+ c];\n"
        "  if (threadIdx.x == 0) y[blockIdx.x] = a;\n}");
    PlanLaunch fill = made.plan.launches[0];
    fill.name = fill.entry = "fill";
    fill.when = When::setup;
    fill.grid = {1};
    fill.args = {{PlanArgument::Kind::name, "kept", 0}, made.plan.launches[0].args[2]};
    made.plan.buffers = {{"kept", bytes, BufferContent::table}};
    made.plan.launches[0].args.push_back({PlanArgument::Kind::name, "kept", 0});
    made.plan.launches.insert(made.plan.launches.begin(), fill);
    return made;
  };
  CHECK(verdict(source("rows", Expr("rows*4")), task).empty());
  testing::expect_code(verdict(source("rows - 1", Expr("rows*4")), task), "run.uninitialised");
  testing::expect_code(verdict(source("rows", Expr("rows*4294967296")), task), "run.unsupported");
}

TEST_CASE("Setup launches read constant tensors of each case and leave restored buffers zero",
          "[threads]") {
  Task task = row_sum_task(9, 150);
  task.tensors[0].role = Role::constant;
  const auto source = [&](const std::string& left) {
    KernelSource made = row_sum_source(
        "extern \"C\" __global__ void sums(const float* x, float* kept, int* count, int rows, int "
        "cols) {\n  float a = 0;\n  for (int c = 0; c < cols; ++c) a += x[threadIdx.x * cols + "
        "c];\n"
        "  kept[threadIdx.x] = a;\n  if (threadIdx.x == 0) count[0] += " +
        left +
        ";\n}\n"
        "extern \"C\" __global__ void k(const float* kept, float* y, int rows, int cols) {\n"
        "  if (threadIdx.x == 0) y[blockIdx.x] = kept[blockIdx.x];\n}");
    PlanLaunch& run = made.plan.launches[0];
    PlanLaunch sums = run;
    sums.name = sums.entry = "sums";
    sums.when = When::setup;
    sums.grid = {1};
    sums.block = {"rows"};
    const auto named = [](const char* name) {
      return PlanArgument{PlanArgument::Kind::name, name, 0};
    };
    sums.args = {run.args[0], named("kept"), named("count"), run.args[2], run.args[3]};
    run.args[0] = named("kept");
    made.plan.buffers = {{"kept", "rows*4", BufferContent::table},
                         {"count", 4, BufferContent::restored}};
    made.plan.launches.insert(made.plan.launches.begin(), sums);
    return made;
  };
  CHECK(verdict(source("0"), task).empty());
  testing::expect_code(verdict(source("1"), task), "run.state");
  // Contents that differ give sums that differ: each case sets up anew.
  const auto kernel = virtual_h200().compile(source("0"));
  REQUIRE(kernel);
  std::vector<Case> cases(3);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].workload = task.time_shapes[0];
    cases[i].content.seed = 5 + i;
    cases[i].hash = true;
    cases[i].repeats = 1;
  }
  const auto report = virtual_h200().run(TaskRef(task), *kernel, cases);
  REQUIRE(report);
  REQUIRE(report->cases.size() == 3);
  for (const CaseReport& one : report->cases) {
    CHECK(one.faults.empty());
    CHECK(one.outputs[0].failed == 0);
    CHECK(one.outputs[0].repeat_differs == 0);
  }
  CHECK(report->cases[0].outputs[0].bits_hash != report->cases[1].outputs[0].bits_hash);
  const Subject subject{Subject::Kind::candidate, "candidate", &*kernel};
  const auto times = virtual_h200().measure(TaskRef(task), task.time_shapes[0], {&subject, 1}, {});
  REQUIRE(times);
  REQUIRE((*times)[0].measurement);
  CHECK_THAT((*times)[0].measurement->conditions.back(), Catch::StartsWith("not timed: setup"));
}

TEST_CASE("A trial ends at the first faulty case, and drawn elements suffice to compare",
          "[threads]") {
  const Task task = row_sum_task(1000, 64);
  const auto kernel =
      virtual_h200().compile(row_sum_source(std::string(row_sum_head) + row_sum_honest));
  REQUIRE(kernel);
  std::vector<Case> cases(3);
  for (Case& one : cases) one.workload = task.time_shapes[0];
  cases[1].compare = 300;
  cases[2].hash = cases[2].count = true;
  const auto report = virtual_h200().run(TaskRef(task), *kernel, cases);
  REQUIRE(report);
  REQUIRE(report->cases.size() == 3);
  CHECK(report->cases[0].outputs[0].compared == 1000);
  CHECK(report->cases[1].outputs[0].compared == 512 - 24);  // blocks 0 and 3, the last of 232
  CHECK(report->cases[1].outputs[0].elements == 1000);
  CHECK(report->cases[0].outputs[0].bits_hash.empty());
  CHECK(report->cases[2].outputs[0].bits_hash.size() == 64);
  CHECK(report->cases[0].outputs[0].worst_ratio > 0);
  CHECK(report->cases[0].outputs[0].worst_ratio < 1);
  CHECK(report->cases[2].counts[Counter::blocks].value == 1000);
  CHECK(report->cases[2].counts[Counter::flops_fp32].value >= 64000);
}

TEST_CASE("Reports are the same whatever threads ask", "[threads]") {
  const Task task = row_sum_task(64, 100);
  const auto kernel =
      virtual_h200().compile(row_sum_source(std::string(row_sum_head) + row_sum_honest));
  REQUIRE(kernel);
  Case what;
  what.workload = task.time_shapes[0];
  what.hash = what.count = true;
  std::vector<std::string> seen(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      if (i == 2 && !virtual_h200().inspector().renew()) return;
      const auto report = virtual_h200().run(TaskRef(task), *kernel, {&what, 1});
      if (!report) return;
      const OutputReport& output = report->cases[0].outputs[0];
      seen[i] = output.bits_hash + std::to_string(output.worst_ratio) +
                std::to_string(output.worst_index) +
                std::to_string(report->cases[0].counts[Counter::warp_instructions].value);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : seen) {
    CHECK_FALSE(one.empty());
    CHECK(one == seen[0]);
  }
}

TEST_CASE("Drawn blocks are spread, hold both ends, and are all when all are asked") {
  CHECK(draw_blocks(1000, 0, 1) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(draw_blocks(0, 0, 1).empty());
  const auto few = draw_blocks(1 << 20, 2048, 5);
  CHECK(few.size() == 8);
  CHECK(few.front() == 0);
  CHECK(few.back() == (1 << 12) - 1);
  CHECK(few == draw_blocks(1 << 20, 2048, 5));
  CHECK(few != draw_blocks(1 << 20, 2048, 6));
}

TEST_CASE("An unknown chip is named") {
  const auto opened = open_virtual("h2000", {});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message.find("h2000") != std::string::npos);
}

TEST_CASE("Integers that reference values do not hold are said to be beyond judging", "[threads]") {
  for (const std::int64_t below : {std::int64_t{1} << 40, std::int64_t{1} << 52}) {
    Task task = row_sum_task(8, 64);
    for (Tensor& tensor : task.tensors) tensor.type = DType::i64;
    task.tensors[0].fill = {.kind = FillKind::integers, .below = below};
    task.tensors[1].check = {.kind = CheckKind::bitwise};
    task.precision = Precision::integer;
    const auto kernel = virtual_h200().compile(row_sum_source(
        "extern \"C\" __global__ void k(const long long* x, long long* y, int rows, int cols) {"
        " long long sum = 0; for (int c = 0; c < cols; ++c) sum += x[(long long)blockIdx.x * cols "
        "+ c];"
        " if (threadIdx.x == 0) y[blockIdx.x] = sum; }"));
    REQUIRE(kernel);
    const Case whole{.workload = task.time_shapes[0]};
    const auto report = virtual_h200().run(TaskRef(task), *kernel, {&whole, 1});
    INFO(below);
    CHECK(static_cast<bool>(report) == (below == std::int64_t{1} << 40));
    if (report) {
      CHECK(verdict_of(report).empty());
    } else {
      CHECK(report.error().message.find("above 2^53 integers cannot be judged") !=
            std::string::npos);
    }
  }
}

}  // namespace
}  // namespace cupilot
