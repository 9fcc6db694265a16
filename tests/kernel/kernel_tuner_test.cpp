// Lists of other tuners: what comes out reads as a tunable, and what cannot be said is told by
// place, reason and fix.
#include <cupilot/parts/kernel_tuner.hpp>
#include <cupilot/parts/tunable.hpp>

#include "kernel/python_expr.hpp"
#include "mistakes.hpp"

using namespace cupilot;
using support::Mistake;

namespace {

const std::string kernel = R"cu(// Adds two vectors.
extern "C" __global__ void __launch_bounds__(block_size_x)
    vector_add(float* __restrict__ c, const float* a /* first */, const float* b, float scale, int n, long long stride) {
  if constexpr (use_shared) __syncthreads();
  for (int i = 0; i < items; ++i) c[i] = a[i] + scale * b[i];
}
)cu";

const std::string json = R"js({
  "kernel_name": "vector_add",
  "tune_params": {"block_size_x": [64, 128, 256], "items": [1, 2, 4], "use_shared": [true, false]},
  "restrictions": ["block_size_x*items<=1024", "not use_shared or items > 1"],
  "problem_size": ["n"],
  "grid_div_x": ["block_size_x", "items"],
  "smem_args": {"size": "block_size_x * 4 if use_shared else 0"}
})js";

const std::string script = R"py(from collections import OrderedDict
# How the kernel may vary.
kernel_name = 'vector_add'
tune_params = OrderedDict()
tune_params["block_size_x"] = [64, 128,
                               256]  # threads
tune_params["items"] = (1, 2, 4,)
tune_params["use_shared"] = [True, False]
restrictions = ["block_size_x*items<=1024",
                'not use_shared or items > 1']
problem_size = "n"
grid_div_x = ["block_size_x", "items"]
smem_args = dict()
smem_args["size"] = "block_size_x * 4 if use_shared else 0"
)py";

const std::string shared_format = R"js({
  "General": {"FormatVersion": 1},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "block_size_x", "Type": "int", "Values": "[64, 128, 256]"},
      {"Name": "items", "Type": "int", "Values": "[1, 2, 4]"},
      {"Name": "use_shared", "Type": "bool", "Values": "[True, False]"}
    ],
    "Conditions": [{"Parameters": ["block_size_x", "items"], "Expression": "block_size_x*items<=1024"},
                   {"Parameters": ["use_shared", "items"], "Expression": "not use_shared or items > 1"}]
  },
  "KernelSpecification": {
    "Language": "CUDA", "KernelName": "vector_add", "KernelFile": "vector_add.cu",
    "LocalSize": {"X": "block_size_x"}, "GlobalSize": {"X": "n // (block_size_x * items)"},
    "SharedMemory": 0
  }
})js";

Result<Tunable> imported(const std::string& list, const std::string& text = kernel) {
  const Result<std::string> made =
      import_tuner_list(list, "list", text, {.family = "vectors", .name = {}, .problem = {}});
  if (!made) return made.error();
  return parse_tunable(*made, "made.cu");
}

// What is the same of the three lists.
void check_parameters(const Tunable& tunable) {
  CHECK(tunable.name == "vector_add");
  CHECK(tunable.family == "vectors");
  REQUIRE(tunable.parameters.size() == 3);
  CHECK(tunable.parameters[0].constant == "block_size_x");
  CHECK(tunable.parameters[0].domain == std::vector<std::int64_t>{64, 128, 256});
  CHECK(tunable.parameters[2].domain == std::vector<std::int64_t>{1, 0});
  CHECK(tunable.restrictions ==
        std::vector<Expr>{"block_size_x * items <= 1024", "!use_shared || items > 1"});
  CHECK(tunable.text == kernel);
  REQUIRE(tunable.plan.launches.size() == 1);
  const PlanLaunch& launch = tunable.plan.launches[0];
  CHECK(launch.entry == "vector_add");
  CHECK(launch.block[0] == Expr("block_size_x"));
  REQUIRE(launch.args.size() == 6);
  CHECK(launch.args[0].name == "c");
  CHECK(launch.args[3].name == "scale");
  CHECK(launch.args[4].kind == PlanArgument::Kind::i32);
  CHECK(launch.args[5].kind == PlanArgument::Kind::i64);
  CHECK(launch.args[5].value == Expr("stride"));
}

}  // namespace

TEST_CASE("lists as JSON, as a script and in the shared format make one tunable", "[kernel]") {
  for (const std::string& list : {json, script}) {
    const auto tunable = imported(list);
    INFO((tunable ? "" : tunable.error().message));
    REQUIRE(tunable);
    check_parameters(*tunable);
    const PlanLaunch& launch = tunable->plan.launches[0];
    CHECK(launch.grid == std::vector<Expr>{"cdiv(n, block_size_x * items)"});
    CHECK(launch.block == std::vector<Expr>{"block_size_x", 1, 1});
    CHECK(launch.shared == Expr("use_shared ? block_size_x * 4 : 0"));
  }
  const auto tunable = imported(shared_format);
  INFO((tunable ? "" : tunable.error().message));
  REQUIRE(tunable);
  check_parameters(*tunable);
  CHECK(tunable->plan.launches[0].grid == std::vector<Expr>{"n / (block_size_x * items)"});
}

TEST_CASE("sizes given beside a list take the place of its numbers", "[kernel]") {
  const std::string fixed = support::spoilt(json, {"[\"n\"]", "[4096, 4096]"});
  const auto made = import_tuner_list(fixed, "list", kernel,
                                      {.family = "vectors", .name = "own", .problem = "n,2*m"});
  INFO((made ? "" : made.error().message));
  REQUIRE(made);
  const auto tunable = parse_tunable(*made, "made.cu");
  REQUIRE(tunable);
  CHECK(tunable->name == "own");
  CHECK(tunable->plan.launches[0].grid ==
        std::vector<Expr>{"cdiv(n, block_size_x * items)", "2*m"});
}

TEST_CASE("conditions mean what they mean in Python", "[kernel]") {
  struct Row {
    const char *python, *ours;
    std::int64_t value;  // at a = 6, b = 4
  };
  const Row rows[] = {
      {"a*b<=1024", "a * b <= 1024", 1},
      {"4 <= a <= 5", "4 <= a && a <= 5", 0},
      {"a // b == 1 and a % b == 2", "a / b == 1 && a % b == 2", 1},
      {"not a == b", "!(a == b)", 1},
      {"a == b or (a > 5 and b in [2, 4, 8])", "a == b || a > 5 && (b == 2 || b == 4 || b == 8)",
       1},
      {"a not in (6, 7)", "!(a == 6 || a == 7)", 0},
      {"(a if b > 4 else b) * 2 == 8", "(b > 4 ? a : b) * 2 == 8", 1},
      {"max(a, b, 9) - min(a, b) == 5", "max(max(a, b), 9) - min(a, b) == 5", 1},
      {"a - (b - 1) == 3", "a - (b - 1) == 3", 1},
      {"-(-a) == a", "-(-a) == a", 1},
      {"(a + b) * (a - b) == 20", "(a + b) * (a - b) == 20", 1},
      {"(a == 6) == True", "a == 6 == 1", 1},
      {"a != b != a", "a != b && b != a", 1},
  };
  const ExprScope scope = scope_of({{"a", 6}, {"b", 4}});
  for (const Row& row : rows) {
    INFO(row.python);
    const auto translated = expr_from_python(row.python);
    if (const auto* fault = std::get_if<Untranslated>(&translated)) FAIL(fault->reason);
    CHECK(std::get<Expr>(translated).text == row.ours);
    CHECK(*evaluate_or_error(std::get<Expr>(translated), scope) == row.value);
  }
}

TEST_CASE("what a list says and a tunable cannot is told by place, reason and fix", "[kernel]") {
  struct Row {
    const std::string& good;
    Mistake mistake;
  };
  const Row rows[] = {
      {json, {"\"kernel_name\"", "\"kernel\""}},
      {json, {"\"vector_add\"", "\"vector_sub\""}},
      {json, {"\"block_size_x\": [64", "\"block size\": [64"}},
      {json, {"[64, 128, 256]", "[]"}},
      {json, {"[64, 128, 256]", "\"64:256\""}},
      {json, {"[64, 128, 256]", "[64, 18446744073709551615]"}},
      {json, {"[64, 128, 256]", "[64, 1.5]"}},
      {json, {"[64, 128, 256]", "[\"small\", \"large\"]"}},
      {json, {"[64, 128, 256]", "[64, 64]"}},
      {json, {"block_size_x*items<=1024", "block_size_x*item<=1024"}},
      {json, {"block_size_x*items<=1024", "block_size_x/items>=8"}},
      {json, {"block_size_x*items<=1024", "block_size_x**2<=1024"}},
      {json, {"block_size_x*items<=1024", "items & 1 == 0"}},
      {json, {"block_size_x*items<=1024", "items <= 2.5"}},
      {json, {"block_size_x*items<=1024", "lambda p: p['items'] > 1"}},
      {json, {"block_size_x*items<=1024", "p['items'] > 1"}},
      {json, {"block_size_x*items<=1024", "math.log2(items) < 3"}},
      {json, {"block_size_x*items<=1024", "len(items) < 3"}},
      {json, {"block_size_x*items<=1024", "(block_size_x*items<=1024"}},
      {json, {"block_size_x*items<=1024", "block_size_x*items<="}},
      {json, {"block_size_x*items<=1024", "items in range(4)"}},
      {json, {"\"block_size_x*items<=1024\"", "1024"}},
      {json, {"\"problem_size\": [\"n\"]", "\"problem_size\": [4096]"}},
      {json, {"\"problem_size\": [\"n\"],", ""}},
      {json,
       {"\"problem_size\": [\"n\"]",
        "\"problem_size\": [\"n\"], \"block_size_names\": [\"threads\"]"}},
      {json, {"\"grid_div_x\": [", "\"grid_div_y\": [1], \"grid_div_x\": ["}},
      {json, {"[\"block_size_x\", \"items\"]", "\"block_size_x\""}},
      {json, {"\"smem_args\"", "\"cmem_args\""}},
      {script, {"= (1, 2, 4,)", "= [2**i for i in range(3)]"}},
      {script, {"tune_params = OrderedDict()\n", ""}},
      {script, {"kernel_name = 'vector_add'", "print('tuning')"}},
      {shared_format, {"\"Type\": \"bool\"", "\"Type\": \"string\""}},
      {shared_format, {"\"[1, 2, 4]\"", "\"range(4)\""}},
      {shared_format, {"\"Language\": \"CUDA\"", "\"Language\": \"OpenCL\""}},
      {shared_format, {"\"X\": \"block_size_x\"", "\"X\": \"threads\""}},
      {kernel,
       {"if constexpr (use_shared) __syncthreads();",
        "\n#if use_shared\n__syncthreads();\n#endif"}},
      {kernel, {"float scale", "float4 scale"}},
      {kernel, {"const float* b", "const float** b"}},
  };
  std::string answers;
  for (const Row& row : rows) {
    INFO(row.mistake.from << " => " << row.mistake.to);
    const std::string bad = support::spoilt(row.good, row.mistake);
    const auto tunable = &row.good == &kernel ? imported(json, bad) : imported(bad);
    REQUIRE_FALSE(tunable);
    CHECK(tunable.error().code == ErrorCode::usage);
    CHECK(tunable.error().hint.size() > 3);
    answers += support::answer_text(row.mistake, tunable.error());
  }
  support::check_golden(answers, "kernel_tuner.txt");
}
