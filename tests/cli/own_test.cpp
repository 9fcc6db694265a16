// Tasks and kernels of one's own, from the scaffold to a search.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

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

TEST_CASE("the best kernel of a family of one's own is proved without the family", "[cli]") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch.path / "doubled" / "templates");
  scratch.file("doubled/family.json", R"json({"cupilot_family": 1, "name": "doubled",
  "words": [{"name": "n", "kind": "size", "default": 300}],
  "task": {"cupilot_task": 1, "name": "doubled", "axes": [{"name": "n"}],
    "tensors": [{"name": "x", "role": "in", "type": "fp32", "shape": ["n"]},
      {"name": "y", "role": "out", "type": "fp32", "shape": ["n"]}],
    "precision": "fp32-strict", "time_shapes": [{"sizes": {"n": "$n"}}], "work": {"flops": "n"},
    "reference": "doubled.cu"}})json");
  scratch.file("doubled/doubled.cu",
               "__device__ real reference_y(const Inputs& in, long long i) {\n"
               "  return in.x(i) + in.x(i);\n}\n");
  scratch.file("doubled/templates/doubled.cu", R"cu(/* cupilot tunable 1
{"name": "doubled_blocks", "family": "doubled", "summary": "an element a thread",
 "parameters": {"THREADS": {"name": "block_threads", "domain": [64, 128], "plain": 64}},
 "registers": "16",
 "plan": {"launches": [{"entry": "doubled", "grid": ["cdiv(n, THREADS)"], "block": ["THREADS"],
                        "args": ["x", "y", {"i32": "n"}]}]}}
*/
extern "C" __global__ void doubled(const T_x* x, T_y* y, int n) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}
)cu");
  expect(
      run("evolve doubled n=700 --family doubled --device virtual:h200 --evaluations 2 --run own",
          scratch),
      0, "kernel: own/best/");
  expect(run("verify own/best/kernel.cu --device virtual:h200", scratch), 0,
         "is right for task doubled");
  // A slip is told with the line of the template in its folder.
  std::string text = slurp(scratch.path / "doubled/templates/doubled.cu");
  scratch.file("doubled/templates/doubled.cu",
               text.replace(text.find("x[i] + x[i]"), 11, "x[i] + z"));
  expect(run("evolve doubled --family doubled --device virtual:h200 --evaluations 2 --run bad",
             scratch),
         7, "; doubled/templates/doubled.cu:10: if (i < n) y[i] = x[i] + z;");
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

TEST_CASE("a kernel that prepares constants is proved, and its time says so", "[cli]") {
  const std::string task = R"json({"cupilot_task": 2, "name": "weighed",
 "axes": [{"name": "rows", "kind": "free"}, {"name": "cols", "kind": "free"}],
 "tensors": [{"name": "x", "role": "in", "shape": ["rows", "cols"]}, {"name": "w", "role": "constant", "shape": ["cols"]},
             {"name": "y", "role": "out", "shape": ["rows", "cols"]}],
 "operations": [{"name": "act", "op": "relu", "in": ["w"], "out": ["r"]}, {"name": "by", "op": "mul", "in": ["x", "r"], "out": ["y"]}],
 "precision": "fp32-strict", "time_shapes": [{"sizes": {"rows": 64, "cols": 96}}], "check_shapes": [{"sizes": {"rows": 3, "cols": 17}}]})json";
  std::string plan =
      R"json(// cupilot: {"plan": {"buffers": [{"name": "r", "bytes": "cols * 4", "content": "table"}],
 "launches": [{"entry": "act", "when": "setup", "grid": ["cdiv(cols, 64)"], "block": [64], "args": ["w", "r", {"i32": "cols"}]},
 {"entry": "by", "grid": ["rows"], "block": [64], "args": ["x", "r", "y", {"i32": "cols"}]}]}})json";
  std::replace(plan.begin(), plan.end(), '\n', ' ');
  const std::string text = R"cu(
extern "C" __global__ void act(const float* w, float* r, int cols) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c < cols) r[c] = w[c] < 0 ? 0 : w[c];
}
extern "C" __global__ void by(const float* x, const float* r, float* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += 64) {
    const long long i = static_cast<long long>(blockIdx.x) * cols + c;
    y[i] = x[i] * r[c];
  }
}
)cu";
  const Scratch scratch;
  std::string input = task;
  input.replace(input.find("constant"), 8, "in");
  scratch.file("task.json", task);
  scratch.file("input.json", input);
  scratch.file("kernel.cu", "// cupilot: {\"task\": [\"task.json\"]}\n" + plan + text);
  const Ran proved = run("verify kernel.cu --device virtual:h200", scratch);
  expect(proved, 0, "PROVED");
  expect(proved, 0, "setup      not timed: setup launches, once for a shape and its constant");
  const Ran refused = run("verify kernel.cu --task input.json --device virtual:h200", scratch);
  expect(refused, 8, "a setup launch takes tensor w, which is no constant");
}
