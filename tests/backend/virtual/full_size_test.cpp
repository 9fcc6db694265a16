// Blocks of grids that are too large to be run whole.
#include "catch.hpp"
#include "support/reached.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

Tensor tensor(const char* name, Role role, DType type, std::vector<Expr> shape) {
  Tensor out;
  out.name = name;
  out.role = role;
  out.type = type;
  out.shape = std::move(shape);
  return out;
}

// y = 3 - x over rows of cols elements; in place where `role` says so.
Task flipped_task(std::int64_t rows, std::int64_t cols, bool in_place) {
  Task task;
  task.name = task.family = "flipped";
  task.axes = {{"rows", AxisKind::free}, {"cols", AxisKind::free}};
  task.tensors = {tensor("y", in_place ? Role::in_out : Role::out, DType::f32, {"rows", "cols"})};
  if (!in_place)
    task.tensors.insert(task.tensors.begin(), tensor("x", Role::in, DType::f32, {"rows", "cols"}));
  task.time_shapes = {{{{"rows", rows}, {"cols", cols}}, 1}};
  task.work.flops = "rows*cols";
  task.reference.text = std::string(
                            "__device__ real reference_y(const Inputs& in, long long i) "
                            "{ return real(3.0) - in.") +
                        (in_place ? "y" : "x") + "(i); }\n";
  return task;
}

struct Row {
  const char* name;
  std::int64_t rows, cols;
  const char* grid;
  const char* body;
  const char* code;
  bool in_place = false;
  int cluster = 1;
};

std::string verdict_of_sampled(const Task& task, const KernelSource& source);

std::string verdict_of_blocks(const Row& row) {
  const Task task = flipped_task(row.rows, row.cols, row.in_place);
  KernelSource source = row_sum_source(
      std::string("extern \"C\" __global__ void k(const float* x, float* y, int rows, int cols) ") +
      row.body);
  if (row.in_place) source.plan.launches[0].args[0].name = "y";
  source.plan.launches[0].grid = {Expr(row.grid)};
  if (row.cluster > 1) source.plan.launches[0].cluster = {row.cluster};
  return verdict_of_sampled(task, source);
}

std::string verdict_of_sampled(const Task& task, const KernelSource& source) {
  const Attempt<CompiledKernel> kernel = virtual_h200().compile(source);
  if (!kernel) return "not compiled";
  std::vector<Case> cases;
  for (const ContentKind kind : {ContentKind::ordinary, ContentKind::range_rows})
    cases.push_back(
        {.workload = task.time_shapes[0], .content = {.seed = 3, .kind = kind}, .sampled = true});
  const auto report = virtual_h200().run(TaskRef(task), *kernel, cases);
  if (report && report->cases[0].not_for_this_shape) return "not told";
  return verdict_of(report);
}

const char* const by_rows =
    "{ for (int c = threadIdx.x; c < cols; c += 128) { const size_t i = (size_t)blockIdx.x * cols "
    "+ c; y[i] = 3.0f - x[i]; } }";

TEST_CASE("blocks of a grid of any size show what goes wrong at its size alone", "[threads]") {
  const auto row = GENERATE(values<Row>({
      {"right, 13 GB", 90000, 36000, "rows", by_rows, ""},
      {"right, in place", 90000, 36000, "rows", by_rows, "", true},
      {"right, in place by clusters, of which several blocks are drawn", 3, 36000, "rows * 2",
       "{ const size_t row = blockIdx.x / 2; for (int c = blockIdx.x % 2 * 128 + threadIdx.x; c < "
       "cols; c += 256) y[row * cols + c] = 3.0f - y[row * cols + c]; }",
       "", true, 2},
      {"the place passes 2^31", 90000, 36000, "rows",
       "{ for (int c = threadIdx.x; c < cols; c += 128) { const int i = blockIdx.x * cols + c; "
       "y[i] = 3.0f - x[i]; } }",
       "run.out_of_bounds"},
      {"in place, the place passes 2^31", 90000, 36000, "rows",
       "{ for (int c = threadIdx.x; c < cols; c += 128) { const int i = blockIdx.x * cols + c; "
       "y[i] = 3.0f - y[i]; } }",
       "run.out_of_bounds", true},
      {"the last blocks write elsewhere", 3000000, 100, "rows",
       "{ const size_t b = blockIdx.x, i = (b > 2990000 ? b - 1000000 : b) * cols + threadIdx.x; "
       "if (threadIdx.x < cols) y[i] = 3.0f - x[(size_t)b * cols + threadIdx.x]; }",
       "verify.bound"},
      {"a capped grid without a loop", 500000000, 1, "min(cdiv(rows,128),60000)",
       "{ const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) y[i] = 3.0f - x[i]; }",
       "verify.never_written"},
      {"a cap in the code, and a ragged end", 500000001, 1, "cdiv(rows,128)",
       "{ if (blockIdx.x > 3000000) return; const int i = blockIdx.x * 128 + threadIdx.x; if (i < "
       "rows) y[i] = 3.0f - x[i]; }",
       "verify.never_written"},
      {"a capped grid of rows, and a ragged tile of columns", 500000, 1000, "480000 * 8",
       "{ const int c = blockIdx.x % 8 * 128 + threadIdx.x; const size_t i = (size_t)(blockIdx.x / "
       "8) * cols + c; if (c < cols) y[i] = 3.0f - x[i]; }",
       "verify.never_written"},
      {"the whole grid of rows, and a ragged tile of columns", 500000, 1000, "rows * 8",
       "{ const int c = blockIdx.x % 8 * 128 + threadIdx.x; const size_t i = (size_t)(blockIdx.x / "
       "8) * cols + c; if (c < cols) y[i] = 3.0f - x[i]; }",
       ""},
      {"no cap, and a ragged end", 500000001, 1, "cdiv(rows,128)",
       "{ const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) y[i] = 3.0f - x[i]; }", ""},
      {"a counter of 32 bits that goes round elsewhere each time", 16777215, 256, "8448",
       "{ for (unsigned i = blockIdx.x * 128 + threadIdx.x; i < (unsigned)rows * (unsigned)cols; i "
       "+= gridDim.x * 128) y[i] = 3.0f - x[i]; }",
       "run.hang"},
      {"a barrier that nobody completes in the third round", 500000000, 1,
       "min(cdiv(rows,128),1000000)",
       "{ __shared__ unsigned long long bar; const unsigned at = "
       "(unsigned)__cvta_generic_to_shared(&bar); int n = 0; if (threadIdx.x == 0) asm "
       "volatile(\"mbarrier.init.shared.b64 [%0], 1;\" ::\"r\"(at)); __syncthreads(); for (long "
       "long i = blockIdx.x * 128 + threadIdx.x; i < rows; i += gridDim.x * 128, ++n) { if (n < 2 "
       "&& threadIdx.x == 0) asm volatile(\"mbarrier.arrive.shared.b64 _, [%0];\" ::\"r\"(at)); "
       "for (unsigned ok = 0; ok == 0;) asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity."
       "shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }\" : \"=r\"(ok) : \"r\"(at), \"r\"(n & 1)); "
       "y[i] = 3.0f - x[i]; } }",
       "run.hang"},
      {"a capped grid with a loop", 500000000, 1, "min(cdiv(rows,128),60000)",
       "{ for (long long i = blockIdx.x * 128 + threadIdx.x; i < rows; i += gridDim.x * 128) y[i] "
       "= 3.0f - x[i]; }",
       ""},
      {"a counter passes 2^31", 2147483000, 1, "min(cdiv(rows,128),60000)",
       "{ for (int i = blockIdx.x * 128 + threadIdx.x; i < rows; i += gridDim.x * 128) y[i] = 3.0f "
       "- x[i]; }",
       "run.out_of_bounds"},
      {"a capped grid whose blocks take turns in their work", 500000000, 1,
       "min(cdiv(rows,128),60000)",
       "{ int i = blockIdx.x * 128 + threadIdx.x; for (int k = blockIdx.x % 2; k < 3; ++k, i += "
       "gridDim.x * 128) if (i < rows) y[i] = 3.0f - x[i]; }",
       "verify.never_written"},
      {"a counter that wraps and begins anew", 2147483000, 1, "min(cdiv(rows,128),65536)",
       "{ for (int b = blockIdx.x * 128; b < rows; b += gridDim.x * 128) { const unsigned i = b + "
       "threadIdx.x; if (i < rows) y[i] = 3.0f - x[i]; } }",
       "run.hang"},
      {"places that wrap within the output", 1500000000, 1, "cdiv(rows,128)",
       "{ const unsigned twice = blockIdx.x * 512u + threadIdx.x * 4u; if (twice / 4 < rows) "
       "y[twice "
       "/ 4] = 3.0f - x[twice / 4]; }",
       "verify.never_written"},
      {"one block short of one element", 3000000, 128, "rows",
       "{ const size_t b = blockIdx.x; if (threadIdx.x < cols - (b % 1000003 == 1000002)) y[b * "
       "cols + threadIdx.x] = 3.0f - x[b * cols + threadIdx.x]; }",
       "verify.never_written"},
      {"one block that the code names", 3000000, 100, "rows",
       "{ const size_t i = (size_t)blockIdx.x * cols + threadIdx.x; if (threadIdx.x < cols) y[i] = "
       "(blockIdx.x == 1234567 ? 2.0f : 3.0f) - x[i]; }",
       "verify.bound"},
      {"each block of many that the code names by its rest", 3000000, 100, "rows",
       "{ const size_t i = (size_t)blockIdx.x * cols + threadIdx.x; if (threadIdx.x < cols) y[i] = "
       "((blockIdx.x & 65535) == 65535 ? 2.0f : 3.0f) - x[i]; }",
       "verify.bound"},
      {"one element that the code names", 3000000, 100, "rows",
       "{ const size_t i = (size_t)blockIdx.x * cols + threadIdx.x; if (threadIdx.x < cols) y[i] = "
       "(i == 123456789 ? 2.0f : 3.0f) - x[i]; }",
       "verify.bound"},
      {"sums in shared memory do not end the comparison", 3000000, 100, "rows",
       "{ __shared__ int n; if (threadIdx.x == 0) n = 0; __syncthreads(); atomicAdd(&n, 1); "
       "__syncthreads(); const size_t i = (size_t)blockIdx.x * cols + threadIdx.x; if (threadIdx.x "
       "< cols) y[i] = 3.0f - x[i] + (blockIdx.x + 1 == rows ? n : 0); }",
       "verify.bound"},
      {"blocks that take tickets", 90000, 36000, "rows",
       "{ __shared__ int t; if (threadIdx.x == 0) t = atomicAdd((int*)y, 1); __syncthreads(); y[t] "
       "= x[t]; }",
       "not told"},
  }));
  INFO(row.name);
  CHECK(verdict_of_blocks(row) == row.code);
}

// Two launches: `first` writes a buffer, `second` takes it from there.
std::string verdict_of_two(const char* grid, const char* second) {
  KernelSource source = row_sum_source(
      std::string(
          "extern \"C\" __global__ void first(const float* x, float* mid, int rows, int cols) { "
          "for "
          "(size_t i = blockIdx.x * 128 + threadIdx.x; i < rows; i += (size_t)gridDim.x * 128) "
          "mid[i] = 3.0f - x[i]; }\n"
          "extern \"C\" __global__ void second(const float* mid, float* y, int rows, int cols) ") +
      second);
  PlanLaunch launch = source.plan.launches[0];
  source.plan.launches = {launch, launch};
  source.plan.buffers = {{"mid", "rows * 4"}};
  const char* const entries[] = {"first", "second"};
  for (std::size_t l = 0; l < 2; ++l) {
    PlanLaunch& one = source.plan.launches[l];
    one.entry = one.name = entries[l];
    one.grid = {Expr(l == 0 ? "min(cdiv(rows,128),60000)" : grid)};
    one.args[1 - l].name = "mid";
  }
  return verdict_of_sampled(flipped_task(500000000, 1, false), source);
}

// y = 3 - y in place over 4 million rows of 64, whose rows from `first` on, to `end`, stay as they
// are.
std::string verdict_of_update(std::int64_t first, std::int64_t end, const char* body,
                              std::vector<Expr> grid = {"rows"}) {
  Task task = flipped_task(4'000'000, 64, true);
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long i) { return i >= " +
      std::to_string(64 * first) + " && i < " + std::to_string(64 * end) +
      " ? in.y(i) : real(3.0) - in.y(i); }\n";
  KernelSource source = row_sum_source(
      std::string("extern \"C\" __global__ void k(float* y, const float*, int rows, int cols) ") +
      body);
  PlanLaunch& launch = source.plan.launches[0];
  launch.args[0].name = "y";
  launch.grid = std::move(grid);
  launch.block = {Expr(64)};
  return verdict_of_sampled(task, source);
}

TEST_CASE("blocks that leave their part of an update are told, whatever their place", "[threads]") {
  const auto update = [](const std::string& leaves) {
    return "{ if (" + leaves +
           ") return; const size_t i = (size_t)blockIdx.x * 64 + threadIdx.x; y[i] = 3.0f - y[i]; "
           "}";
  };
  const auto verdict = [&](const char* leaves, std::int64_t first = 0, std::int64_t end = 0) {
    return verdict_of_update(first, end, update(leaves).c_str());
  };
  CHECK(verdict("false").empty());
  CHECK(verdict("blockIdx.x >= 1000000 && blockIdx.x < 1400000") == "verify.never_written");
  CHECK(verdict("blockIdx.x % 10 == 3") == "verify.never_written");
  CHECK(verdict("((blockIdx.x << 11) >> 11) != blockIdx.x") == "verify.never_written");
  CHECK(verdict("rows > 1000000") == "verify.never_written");
  CHECK(verdict("blockIdx.x < 400000") == "verify.never_written");
  // Those have nothing to do.
  CHECK(verdict("blockIdx.x >= 1000000 && blockIdx.x < 1400000", 1000000, 1400000).empty());
  // The other side of the grid's middle takes their part.
  CHECK(verdict_of_update(0, 0,
                          "{ if (blockIdx.x >= 2000000) return; for (int k = 0; k < 2; ++k) { "
                          "const size_t i = ((size_t)blockIdx.x + 2000000 * k) * 64 + threadIdx.x; "
                          "y[i] = 3.0f - y[i]; } }")
            .empty());
  // Tiles of a grid of two sides.
  CHECK(
      verdict_of_update(0, 0,
                        "{ if (blockIdx.y % 16 == 5 && blockIdx.x > 100) return; const size_t i = "
                        "((size_t)blockIdx.y * 2000 + blockIdx.x) * 64 + threadIdx.x; y[i] = "
                        "3.0f - y[i]; }",
                        {2000, 2000}) == "verify.never_written");
}

// Three: `first` writes a buffer, `half` changes it, `second` takes it from there.
std::string verdict_of_three(const char* half, const char* second = "y[i] = mid[i];",
                             const char* first = "mid[i] = 6.0f - 2.0f * x[i];",
                             const char* grid = "cdiv(rows, 32)") {
  const std::string each = "const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) ";
  const std::string entry = "extern \"C\" __global__ void ";
  KernelSource source = row_sum_source(
      entry + "first(const float* x, float* mid, int rows, int cols) { " + each + first + " }\n" +
      entry + "second(const float* mid, float* y, int rows, int cols) { " + each + second + " }\n" +
      entry + "half(float* mid, const float* same, int rows, int cols) " + half);
  const PlanLaunch launch = source.plan.launches[0];
  source.plan.buffers = {{"mid", "rows * 4"}};
  source.plan.launches = {launch, launch, launch};
  const char* const entries[] = {"first", "half", "second"};
  for (std::size_t l = 0; l < 3; ++l) {
    PlanLaunch& one = source.plan.launches[l];
    one.entry = one.name = entries[l];
    one.grid = {Expr(l == 1 ? grid : "cdiv(rows, 128)")};
    if (l == 1) one.args[1].name = one.args[0].name;
    if (l == 0) one.args[1].name = "mid";
    if (l > 0) one.args[0].name = "mid";
  }
  return verdict_of_sampled(flipped_task(500000000, 1, false), source);
}

// Blocks of the last launch find values that blocks of the second one, which did not run, would
// have halved.
TEST_CASE("what a launch changes in place is not compared behind it", "[threads]") {
  const char* const halved =
      "{ const int i = blockIdx.x * 32 + threadIdx.x; if (threadIdx.x < 32 && i < rows) mid[i] *= "
      "0.5f; }";
  CHECK(verdict_of_three(halved) == "not told");
  CHECK(verdict_of_three(halved, "(blockIdx.x > 3000000 ? y + (1ll << 34) : y)[i] = mid[i];") ==
        "run.out_of_bounds");
  CHECK(verdict_of_three("{ const int i = blockIdx.x * 32 + threadIdx.x; if (threadIdx.x < 32 && i "
                         "< rows) (blockIdx.x > 12000000 ? mid + (1ll << 34) : mid)[i] *= 0.5f; "
                         "}") == "run.out_of_bounds");
  // Each launch writes its own half of each word.
  const char* const low =
      "((unsigned short*)mid)[2 * i] = (unsigned short)__float_as_uint(3.0f - x[i]);";
  CHECK(verdict_of_three("{ const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) ((unsigned "
                         "short*)mid)[2 * i + 1] = (unsigned short)(__float_as_uint(3.0f - "
                         "same[i]) >> 16); }",
                         "y[i] = mid[i];", low, "cdiv(rows, 128)") == "");
}

TEST_CASE("blocks of the later launches of a plan are run as well", "[threads]") {
  CHECK(verdict_of_two("min(cdiv(rows,128),60000)",
                       "{ for (int i = blockIdx.x * 128 + threadIdx.x; i < rows; i += gridDim.x * "
                       "128) y[i] = mid[i]; }")
            .empty());
  CHECK(verdict_of_two("min(cdiv(rows,128),60000)",
                       "{ const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) y[i] = "
                       "mid[i]; }") == "verify.never_written");
  CHECK(
      verdict_of_two("cdiv(rows,128)",
                     "{ const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) (blockIdx.x > "
                     "3000000 ? y + (1ll << 34) : y)[i] = 1.0f; }") == "run.out_of_bounds");
}

// The sum of all elements: `clear` zeroes it, `k` adds to it.
std::string verdict_of_sum(std::int64_t rows, DType type, const char* grid, const char* body) {
  Task task = flipped_task(rows, 1, false);
  task.tensors[0].type = type;
  task.tensors[0].fill = {.kind = FillKind::integers, .below = 2};
  task.tensors[1].type = DType::i32;
  task.tensors[1].shape = {"1"};
  for (Axis& axis : task.axes) axis.kind = AxisKind::reduced;
  task.reference.text =
      "__device__ real reference_y(const Inputs& in, long long) { long long s = 0; for (long long "
      "i = 0; i < in.rows; ++i) s += in.x(i); return real(double(s)); }\n";
  KernelSource source = row_sum_source(
      std::string("extern \"C\" __global__ void clear(int* y) { *y = 0; }\n"
                  "extern \"C\" __global__ void k(const ") +
      (type == DType::i8 ? "signed char" : "int") + "* x, int* y, long long rows) { int a = 0; " +
      body + " a = __reduce_add_sync(~0u, a); if (threadIdx.x % 32 == 0) atomicAdd(y, a); }");
  PlanLaunch adds = source.plan.launches[0], clears = adds;
  adds.grid = {Expr(grid)};
  adds.args.resize(2);
  adds.args.push_back({PlanArgument::Kind::i64, "", "rows"});
  clears.entry = clears.name = "clear";
  clears.grid = {Expr(1)};
  clears.block = {Expr(1)};
  clears.args = {clears.args[1]};
  source.plan.launches = {clears, adds};
  return verdict_of_sampled(task, source);
}

TEST_CASE("blocks that add to what others add must read all that is needed", "[threads]") {
  const char* const once =
      "const long long i = blockIdx.x * 128ll + threadIdx.x; if (i < rows) a = x[i];";
  const char* const strides =
      "for (long long i = blockIdx.x * 128ll + threadIdx.x; i < rows; i += gridDim.x * 128ll) a += "
      "x[i];";
  CHECK(verdict_of_sum(400'000'000, DType::i32, "cdiv(rows, 128)", once) == "not told");
  CHECK(verdict_of_sum(400'000'000, DType::i32, "min(cdiv(rows, 128), 65535)", strides) ==
        "not told");
  CHECK(verdict_of_sum(400'000'000, DType::i32, "min(cdiv(rows, 128), 65535)", once) ==
        "verify.never_read");
  CHECK(verdict_of_sum(5'000'000'000, DType::i8, "cdiv(rows, 128)", once) == "not told");
  CHECK(verdict_of_sum(5'000'000'000, DType::i8, "cdiv(rows, 128)",
                       "const unsigned i = blockIdx.x * 128 + threadIdx.x; if (i < rows) a = "
                       "x[i];") == "verify.never_read");
  CHECK(verdict_of_sum(5'000'000'000, DType::i8, "cdiv(rows, 128)",
                       "const int i = blockIdx.x * 128 + threadIdx.x; if (i < rows) a = x[i];") ==
        "run.out_of_bounds");
}

}  // namespace
}  // namespace cupilot
