#include "backend/virtual/rereads.hpp"

#include <vector>

#include "backend/virtual/sampled.hpp"
#include "catch.hpp"
#include "tests/backend/template_kernels.hpp"
#include "tests/backend/virtual/tasks.hpp"

namespace cupilot {
namespace {

struct Loads {
  const char* what;
  std::vector<std::uint64_t> lines, others;
  double again, span;
};

TEST_CASE("A load of a line that was loaded before counts by the other lines in between") {
  const Loads loads[] = {
      {"none", {}, {}, 0, 0},
      {"once each", {1, 2, 3, 4}, {}, 0, 0},
      {"twice at once", {1, 1, 2, 2}, {}, 0, 0},
      {"a row twice", {1, 2, 3, 4, 1, 2, 3, 4}, {}, 4, 3},
      {"a row twice, from its end", {1, 2, 3, 1}, {}, 1, 2},
      {"a line between two is one, however often it is loaded", {1, 2, 2, 2, 1}, {}, 1, 1},
      {"what others load too is left out", {1, 9, 2, 8, 1, 9, 2, 8}, {8, 9}, 2, 1},
      {"near ones count for little", {1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1}, {}, 10 * 10 / 66.0, 6.6},
  };
  for (const Loads& one : loads) {
    INFO(one.what);
    RereadSums sums;
    add_rereads(one.lines, one.others, sums);
    CHECK(sums.lines() == Approx(one.again));
    CHECK(sums.span() == Approx(one.span));
  }
}

TEST_CASE("Blocks that seem to have more than there is share what they load again") {
  struct Shared {
    const char* what;
    double shared, read, part;  // bytes; of what a block loads again
  };
  const Shared rows[] = {
      {"rows of one block each", 0, 100, 1},
      {"beside what all read", 20, 120, 1},
      {"rows that two blocks each read", 0, 50, 0.5},
      {"the same beside what all read", 20, 70, 0.5},
      {"nothing is one's own", 100, 100, 0},
  };
  for (const Shared& row : rows) {
    INFO(row.what);
    SideBySide seen;
    seen.reread_bytes = 30;
    seen.reread_span = 10;
    seen.own_bytes = 1;
    seen.shared_bytes = row.shared;
    ModelInput input;
    take_rereads(seen, row.read, 100, input);
    CHECK(input.reread_bytes == Approx(30 * row.part));
    CHECK(input.reread_span == Approx(10 * row.part));
  }
}

// Sums of rows that a block takes in two ways, which must not be one to the compiler.
std::string summed(const std::string& body) {
  return std::string(row_sum_head) + R"({
  __shared__ float s[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * cols;
  float a = 0, b = 0;
)" + body +
         R"(
  s[t] = (a + b) / 2;
  __syncthreads();
  for (int h = 64; h > 0; h /= 2) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
})";
}

Measurement modelled(const Task& task, const KernelSource& source) {
  auto kernel = virtual_h200().compile(source);
  if (kernel.is_rejected()) FAIL(kernel.rejected().message);
  REQUIRE(kernel);
  const Subject subjects[] = {{Subject::Kind::candidate, "candidate", &*kernel}};
  const auto reports =
      virtual_h200().measure(TaskRef(task), task.time_shapes.front(), subjects, {});
  REQUIRE(reports);
  const Attempt<Measurement>& measured = reports->front().measurement;
  if (measured.is_rejected()) FAIL(measured.rejected().message);
  REQUIRE(measured);
  return *measured;
}

struct Reader {
  const char* what;
  std::string body;
  double reads;  // of x, from DRAM
};

TEST_CASE("Rows that do not stay in L2 are read from DRAM as often as blocks read them") {
  const std::string first = "for (int c = t; c < cols; c += 128) a += row[c];\n__syncthreads();\n";
  const Reader readers[] = {
      {"once", first + "b = a;", 1},
      {"twice", first + "for (int c = t; c < cols; c += 128) b += row[c];", 2},
      {"twice, by other warps", first + "for (int c = t ^ 64; c < cols; c += 128) b += row[c];", 2},
      {"a tile of 16 KiB twice",
       R"(for (int top = 0; top < cols; top += 4096) {
         for (int c = top + t; c < top + 4096; c += 128) a += row[c];
         __syncthreads();
         for (int c = top + 4095 - t; c >= top; c -= 128) b += row[c];
         __syncthreads();
       })",
       1},
      {"once, beside the first row, which all blocks read",
       first + R"(for (int c = t; c < cols; c += 128) b += x[c];
         __syncthreads();
         for (int c = t; c < cols; c += 128) b -= x[c];
         b = a + 0 * b;)",
       1},
  };
  constexpr std::int64_t rows = 4096, columns = 65536;
  const Task task = row_sum_task(rows, columns);
  for (const Reader& one : readers) {
    INFO(one.what);
    const Counts counts = modelled(task, row_sum_source(summed(one.body))).counts;
    const double read = counts[Counter::dram_read_bytes].value;
    CHECK(read / (4.0 * rows * columns) == Approx(one.reads).epsilon(0.1));
  }
}

// Layer norms of 16 rows of 16 MB, and what an H200 takes: bench/landscapes/h200-kernelbench.
struct LongNorm {
  const char* id;
  const char* tunable;
  Values values;
  double measured_us;
};

TEST_CASE("Norms of rows of 16 MB are modelled within a third of an H200's times", "[templates]") {
  const LongNorm norms[] = {
      {"f4fc6627", "rowwise", {{"TEAM", 512}, {"VECTOR", 2}, {"ITEMS", 3}}, 2806},
      {"a6d6328b",
       "rows_in_cluster",
       {{"CLUSTER", 4}, {"THREADS", 256}, {"ITEMS", 3}, {"SLOTS", 16}, {"TURNS", 2}},
       5645},
      // Four rows a cluster pass the budget: they are told from clusters of fewer.
      {"055dc287",
       "rows_in_cluster",
       {{"CLUSTER", 4},
        {"THREADS", 128},
        {"ITEMS", 12},
        {"SLOTS", 12},
        {"TURNS", 4},
        {"MIN_BLOCKS", 2},
        {"STORE_HINT", 1}},
       21523}};
  const auto task = task_from_words({"kernelbench:1/40"});
  REQUIRE(task);
  const auto templates = templates_of(builtin_families(), *task);
  for (const LongNorm& norm : norms) {
    INFO(norm.id);
    const Tunable* tunable = named(templates, *task, norm.tunable);
    REQUIRE(tunable != nullptr);
    const auto source = instantiate(*tunable, *task, virtual_h200().device(), norm.values);
    if (!source) FAIL(source.error().message);
    const double us = modelled(*task, *source).time_us;
    CHECK(us > 0.75 * norm.measured_us);
    CHECK(us < norm.measured_us / 0.75);
  }
}

}  // namespace
}  // namespace cupilot
