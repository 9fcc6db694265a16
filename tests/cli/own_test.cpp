// Tasks and kernels of one's own, from the scaffold to a search.
#include <cstdlib>

#include <fmt/format.h>

#include "catch.hpp"
#include "cli/program.hpp"

using support::Ran;
using support::run;
using support::Scratch;
using support::slurp;

namespace {

const char* const list = R"py(
kernel_name = "weigh"
tune_params = dict()
tune_params["block_size_x"] = [64, 128, 256]
tune_params["rows_per_block"] = [1, 2, 4]
restrictions = ["block_size_x * rows_per_block <= 512"]
problem_size = (16, 16)
grid_div_x = ["block_size_x"]
grid_div_y = ["rows_per_block"]
)py";

const char* const kernel = R"cu(
extern "C" __global__ void weigh(const float* x, const float* w, float* y, int rows, int cols) {
  const int c = blockIdx.x * block_size_x + threadIdx.x;
  for (int i = 0; i < rows_per_block; ++i) {
    const int r = blockIdx.y * rows_per_block + i;
    if (r < rows && c < cols) y[static_cast<long long>(r) * cols + c] = x[static_cast<long long>(r) * cols + c] * w[c];
  }
}
)cu";

void expect(const Ran& ran, int exit, const std::string& words) {
  INFO(ran.out << ran.err);
  CHECK(ran.exit == exit);
  CHECK((ran.out + ran.err).find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("a new task passes its check and evolves, with its own and an imported kernel", "[cli]") {
  const Scratch scratch;
  expect(run("task new weighed", scratch), 0, "cupilot evolve weighed/task.json");
  std::string task = slurp(scratch.path / "weighed" / "task.json");
  const std::string size = "\"rows\": 1024, \"cols\": 1024";
  REQUIRE(task.find(size) != std::string::npos);
  scratch.file("weighed/task.json",
               task.replace(task.find(size), size.size(), "\"rows\": 128, \"cols\": 256"));
  expect(run("task check weighed/task.json --device virtual:h200", scratch), 0,
         "FIT to be searched: weighed");
  scratch.file("list.py", list);
  scratch.file("weigh.cu", kernel);
  const std::string import = fmt::format(
      "cd {} && {}/scripts/import-tuner list.py --kernel weigh.cu --family weighed "
      "--problem cols,rows --out imported.cu > said.txt",
      scratch.path.string(), CUPILOT_SOURCE_DIR);
  REQUIRE(std::system(import.c_str()) == 0);
  const Ran searched =
      run("evolve weighed/task.json --tunable weighed/tunable.cu --tunable imported.cu --device "
          "virtual:h200 --evaluations 6 --run r",
          scratch);
  expect(searched, 0, "6 evaluations");
  expect(searched, 0, "kernel: r/best/");
  // The run goes on with what it began with, wherever that was.
  scratch.file("imported.cu", "no tunable any more");
  std::filesystem::remove_all(scratch.path / "weighed");
  expect(run("resume r --evaluations 8", scratch), 0, "8 evaluations");
  expect(run("replay r", scratch), 0, "8 proposals, 8 as the run made them");
  std::filesystem::rename(scratch.path / "r" / "best", scratch.path / "kept");
  expect(run("verify kept/kernel.cu --device virtual:h200", scratch), 0, "PROVED");
}

TEST_CASE("a slip in a task or kernel of one's own is answered before anything is searched",
          "[cli]") {
  const Scratch scratch;
  expect(run("task new", scratch), 2, "name");
  expect(run("task new Weighed", scratch), 2, "'Weighed' is no name");
  REQUIRE(run("task new weighed --family scaled", scratch).exit == 0);
  expect(run("task new weighed", scratch), 2, "is there already");
  const std::string good = slurp(scratch.path / "weighed" / "tunable.cu");
  const auto evolved = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    scratch.file("bad.cu", bad.replace(bad.find(from), from.size(), to));
    return run(
        "evolve weighed/task.json --tunable bad.cu --device virtual:h200 --evaluations 2 --run r",
        scratch);
  };
  expect(evolved("\"scaled\"", "\"weighed\""), 2,
         "bad.cu: family: it serves 'weighed', the task 'weighed' is of family 'scaled'");
  expect(evolved("ROWS * COLS <= 64", "ROWS * COL <= 64"), 2,
         "restrict[0]: 'COL' in \"ROWS * COL <= 64\" is no known name");
  expect(evolved("\"name\": \"weighed_rows\"", "\"name\": \"gemm_simt\""), 2,
         "'gemm_simt' is already the name of");
  CHECK_FALSE(std::filesystem::exists(scratch.path / "r"));
  expect(run("tunable import list.json --kernel own.cu", scratch), 2, "scripts/import-tuner");
}
