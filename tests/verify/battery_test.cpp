#include <algorithm>
#include <cupilot/parts/resolved_plan.hpp>
#include <cupilot/parts/tunable.hpp>
#include <functional>
#include <set>

#include "catch.hpp"
#include "support/graph.hpp"
#include "task/reference/stage_plan.hpp"
#include "task/rules/apply.hpp"
#include "verify/plan_steps.hpp"
#include "verify/plans.hpp"
#include "verify/ratios.hpp"
#include "verify/shapes.hpp"

namespace cupilot {
namespace {

using Seen =
    std::function<bool(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch)>;

bool reaches(const std::vector<Case>& cases, const Seen& wanted) {
  return std::any_of(cases.begin(), cases.end(), [&](const Case& run) {
    const Sizes& s = run.workload.sizes;
    return wanted(s.at("m"), s.at("n"), s.at("k"), s.at("batch"));
  });
}

TEST_CASE("rows that teams of any size share out meet many shapes at little cost") {
  const auto task = load_task(CUPILOT_SOURCE_DIR "/tests/data/softmax/task.json");
  REQUIRE(task);
  for (const char* grid : {"cdiv(rows,ROWS)", "rows", "min(rows,2*132)"}) {
    for (const std::int64_t team : {32, 128, 256, 512, 1024}) {
      KernelSource source;
      source.constants = {{"TEAM", team}, {"ROWS", 1}, {"VECTOR", 4}};
      source.plan.launches = {
          {.name = "main", .entry = "k", .grid = {grid}, .block = {"TEAM*ROWS"}}};
      const PlanSteps steps = plan_steps(*task, source, DeviceSpec{});
      const std::vector<Case> cases =
          battery(*task, source, DeviceSpec{}, ProofLevel::candidate, 1, false);
      double cost = 0;
      std::int64_t longest = 0;
      for (const Case& run : cases) {
        cost += padded_cost(*task, steps, run.workload);
        longest = std::max(longest, run.workload.sizes.at("cols"));
      }
      INFO(grid << " by teams of " << team << ": " << cost << " in " << cases.size() << " cases");
      CHECK(cost < 24e6);
      CHECK(cases.size() >= 7);
      CHECK(longest > team);
    }
  }
}

TEST_CASE("a candidate's battery reaches every path of its plan") {
  const bool small = GENERATE(true, false);
  const KernelSource source =
      small ? tiled_gemm({{"BM", 32}, {"BN", 16}, {"BK", 8}, {"STAGES", 2}, {"SPLIT", 3}})
            : tiled_gemm();
  const std::int64_t bm = source.constants.at("BM"), bn = source.constants.at("BN"),
                     bk = source.constants.at("BK");
  const std::int64_t stages = source.constants.at("STAGES"), split = source.constants.at("SPLIT");
  const bool batched = GENERATE(true, false);
  const std::vector<Case> cases = battery(gemm_of(4096, 4096, 4096, batched ? 64 : 1), source,
                                          DeviceSpec{}, ProofLevel::candidate, 1, false);
  const std::pair<const char*, Seen> wanted[] = {
      {"one element", [](auto m, auto n, auto k, auto) { return m == 1 && n == 1 && k == 1; }},
      {"one row", [](auto m, auto n, auto, auto) { return m == 1 && n > 1; }},
      {"one column", [](auto m, auto n, auto, auto) { return n == 1 && m > 1; }},
      {"whole tiles and slabs",
       [=](auto m, auto n, auto k, auto) { return m % bm == 0 && n % bn == 0 && k % bk == 0; }},
      {"tile + 1 and tile - 1",
       [=](auto m, auto n, auto, auto) { return m == bm + 1 && n == bn - 1; }},
      {"tile - 1 and tile + 1",
       [=](auto m, auto n, auto, auto) { return m == bm - 1 && n == bn + 1; }},
      {"several tiles", [=](auto m, auto n, auto, auto) { return m > 2 * bm && n > bn; }},
      {"less than a slab", [=](auto, auto, auto k, auto) { return k > 1 && k < bk; }},
      {"a slab and one", [=](auto, auto, auto k, auto) { return k == bk + 1; }},
      {"exactly the stages", [=](auto, auto, auto k, auto) { return k == stages * bk; }},
      {"the stages and a tail", [=](auto, auto, auto k, auto) { return k == stages * bk + 1; }},
      {"more slabs than stages", [=](auto, auto, auto k, auto) { return k >= (stages + 2) * bk; }},
      {"every part of the split",
       [=](auto, auto, auto k, auto) { return k > (2 * split - 1) * bk && k % bk != 0; }},
      {"ragged but aligned", [=](auto, auto n, auto, auto) { return n % bn == 8 && n > bn; }},
      {"primes", [](auto m, auto n, auto k, auto) { return m == 53 && n == 61 && k == 29; }},
  };
  for (const auto& [what, seen] : wanted) {
    INFO(what << (small ? " small" : " large"));
    CHECK(reaches(cases, seen));
  }
  CHECK(reaches(cases, [](auto, auto, auto, auto batch) { return batch > 1; }) == batched);
  INFO("every part of the split, of several tiles of several matrices");
  CHECK(reaches(cases, [=](auto, auto n, auto k, auto batch) {
          return batch > 1 && n > bn && k > (2 * split - 1) * bk;
        }) == (batched && small));  // large tiles of two matrices are too dear
  CHECK(std::any_of(cases.begin(), cases.end(),
                    [](const Case& run) { return run.content.kind == ContentKind::probe; }));
}

TEST_CASE("cases respect what the plan requires") {
  KernelSource source = tiled_gemm();
  source.plan.require = {"k%8==0", "n%4==0"};
  const Task task = gemm_of(512, 512, 512);
  const std::vector<Case> cases =
      battery(task, source, DeviceSpec{}, ProofLevel::candidate, 1, false);
  CHECK(cases.size() >= 6);
  for (const Case& run : cases) {
    CHECK(run.workload.sizes.at("k") % 8 == 0);
    CHECK(run.workload.sizes.at("n") % 4 == 0);
  }
  CHECK(reaches(cases, [](auto m, auto, auto, auto) { return m % 128 == 1; }));

  source.plan.require = {"m>1000000"};
  CHECK(battery(task, source, DeviceSpec{}, ProofLevel::candidate, 1, false).size() == 1);
}

TEST_CASE("interpreted batteries stay affordable whatever the tile") {
  for (const std::int64_t tile : {16, 64, 128, 256}) {
    const KernelSource source =
        tiled_gemm({{"BM", tile}, {"BN", tile}, {"BK", 64}, {"STAGES", 5}, {"SPLIT", 32}});
    const Task task = gemm_of(8192, 8192, 8192, 4);
    const PlanSteps steps = plan_steps(task, source, DeviceSpec{});
    double cost = 0;
    const auto cases = battery(task, source, DeviceSpec{}, ProofLevel::candidate, 1, false);
    for (const Case& run : cases) cost += padded_cost(task, steps, run.workload);
    INFO(tile << ": " << cost << " in " << cases.size() << " cases");
    CHECK(cost < 60e6);
    CHECK(cases.size() >= 3);
  }
}

TEST_CASE("a product of reduced axes stays affordable") {
  Task task;
  task.name = task.family = "planes";
  task.axes = {{"n"}, {"c", AxisKind::reduced}, {"h", AxisKind::reduced}, {"w", AxisKind::reduced}};
  Tensor x{"x", Role::in, DType::f32, {"n", "c", "h", "w"}, {}, {}, {}};
  Tensor y{"y", Role::out, DType::f32, {"n"}, {}, {}, {}};
  y.check.length = "c*h*w";
  task.tensors = {x, y};
  task.time_shapes = {{{{"n", 16}, {"c", 64}, {"h", 256}, {"w", 256}}, 1}};
  for (const std::int64_t parts : {16, 128, 1024}) {
    KernelSource source;
    source.constants = {{"PARTS", parts}, {"THREADS", 256}, {"VECTOR", 4}};
    source.plan.let = {{"chunk", "up(cdiv((c*h)*w, PARTS), VECTOR)"}};
    source.plan.launches = {
        {.name = "k", .entry = "k", .grid = {"cdiv((c*h)*w, chunk)*n"}, .block = {"THREADS"}}};
    double most = 0;
    const auto cases = battery(task, source, DeviceSpec{}, ProofLevel::finalist, 1, false);
    for (const Case& run : cases) {
      double terms = run.sampled ? 0 : 1;
      for (const auto& [axis, size] : run.workload.sizes) terms *= static_cast<double>(size);
      most = std::max(most, terms);
    }
    INFO(parts << " parts: " << most);
    CHECK(most <= 120e6);
    CHECK(cases.size() >= 3);
  }
}

TEST_CASE("sizes that large steps multiply to stay within a virtual device") {
  Task task;
  task.name = task.family = "planes";
  task.axes = {{"n"}, {"h"}, {"w"}};
  task.tensors = {Tensor{"x", Role::in, DType::f32, {"n", "h", "w"}, {}, {}, {}},
                  Tensor{"y", Role::out, DType::f32, {"n", "h", "w"}, {}, {}, {}}};
  task.operations = {{"op", "relu", {"x"}, {"y"}, {}}};
  task.time_shapes = {{{{"n", 8192}, {"h", 8192}, {"w", 8192}}}};
  REQUIRE(complete(task));
  for (const std::int64_t step : {16, 512, 4096}) {
    KernelSource source;
    source.constants = {{"STEP", step}};
    source.plan.launches = {{.name = "k",
                             .entry = "k",
                             .grid = {"cdiv(w,STEP)", "cdiv(h,STEP)", "cdiv(n,STEP)"},
                             .block = {32}}};
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::candidate, 1, false)) {
      double elements = 1;
      for (const auto& [axis, size] : run.workload.sizes) elements *= static_cast<double>(size);
      INFO(step << " a step");
      CHECK(elements <= 48e6);
    }
  }
}

TEST_CASE("a device meets denormals where the contract's own type can hold what is made of them") {
  struct Row {
    const char* op;
    bool denormals;
  };
  for (const Row& row : {Row{"sum", true}, {"mean", true}, {"softmax", false}, {"rsqrt", false}}) {
    Task task;
    task.name = task.family = "rows";
    task.axes = {{"rows"}, {"cols", AxisKind::reduced}};
    const bool folds = row.denormals;
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y",
                           Role::out,
                           DType::f32,
                           folds ? std::vector<Expr>{"rows"} : std::vector<Expr>{"rows", "cols"},
                           {},
                           {},
                           {}}};
    std::map<std::string, Attribute> given;
    if (folds) given["dim"] = Attribute(std::vector<std::int64_t>{1});
    if (std::string(row.op) == "softmax") given["dim"] = Attribute(std::int64_t{1});
    task.operations = {{"op", row.op, {"x"}, {"y"}, given}};
    task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
    REQUIRE(complete(task));
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"rows"}, .block = {32}}};
    INFO(row.op);
    for (const bool real : {false, true}) {
      const auto cases = battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, real);
      const bool met = std::any_of(cases.begin(), cases.end(), [](const Case& run) {
        return run.content.kind == ContentKind::denormals;
      });
      CHECK(met == (row.denormals || !real));
    }
  }
}

TEST_CASE("levels add content, seeds and full size") {
  const Task task = gemm_of(512, 512, 512);
  const auto of = [&](ProofLevel level, bool real) {
    return battery(task, tiled_gemm(), DeviceSpec{}, level, 7, real);
  };
  const auto kinds = [](const std::vector<Case>& cases) {
    std::set<ContentKind> out;
    for (const Case& run : cases) out.insert(run.content.kind);
    return out;
  };
  const auto is_full = [&](const std::vector<Case>& cases) {
    return std::any_of(cases.begin(), cases.end(), [&](const Case& run) {
      return !run.sampled && run.workload.sizes == task.time_shapes[0].sizes;
    });
  };
  const auto candidate = of(ProofLevel::candidate, false), elite = of(ProofLevel::elite, false);
  const auto finalist = of(ProofLevel::finalist, false);
  CHECK(kinds(elite).size() == 14);
  CHECK(kinds(finalist).size() == 14);
  CHECK(kinds(of(ProofLevel::elite, true)).count(ContentKind::scales) == 0);
  const auto sampled = [](const std::vector<Case>& cases) {
    return std::count_if(cases.begin(), cases.end(), [](const Case& run) { return run.sampled; });
  };
  CHECK(sampled(candidate) == 0);
  CHECK(sampled(finalist) == 3);
  CHECK(sampled(of(ProofLevel::finalist, true)) == 0);
  CHECK_FALSE(is_full(candidate));
  CHECK_FALSE(is_full(finalist));
  CHECK(is_full(of(ProofLevel::candidate, true)));
  std::set<std::uint64_t> early, late;
  for (const Case& run : candidate) early.insert(run.content.seed);
  for (const Case& run : elite) early.insert(run.content.seed);
  for (const Case& run : finalist) late.insert(run.content.seed);
  CHECK(early.size() <= 4);  // few contents: reference values are shared
  for (const std::uint64_t seed : late) CHECK(early.count(seed) == 0);
  CHECK(late.size() >= 3);
}

TEST_CASE("where a largest is looked for, lines leave three elements over and have peaks there") {
  for (const bool seeks : {false, true}) {
    Task task;
    task.name = task.family = "rows";
    task.axes = {{"rows"}, {"cols", AxisKind::reduced}};
    task.tensors = {Tensor{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                    Tensor{"y", Role::out, DType::f32, {"rows"}, {}, {}, {}}};
    task.operations = {{"op",
                        seeks ? "amax" : "sum",
                        {"x"},
                        {"y"},
                        {{"dim", Attribute(std::vector<std::int64_t>{1})}}}};
    task.time_shapes = {{{{"rows", 64}, {"cols", 64}}}};
    REQUIRE(complete(task));
    KernelSource source;
    source.plan.launches = {{.name = "k", .entry = "k", .grid = {"rows"}, .block = {32}}};
    std::set<std::int64_t> lines;
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::elite, 1, false)) {
      if (run.content.kind == ContentKind::range_rows) lines.insert(run.workload.sizes.at("cols"));
    }
    for (const std::int64_t elements : {7, 96, 191, 251}) {
      INFO(elements);
      CHECK((lines.count(elements) == 1) == seeks);
    }
  }
}

TEST_CASE("a finalist is repeated as often as a second allows at full size") {
  struct Row {
    std::int64_t m, n, k;
    int least, most;
  };
  for (const Row& row : {Row{512, 512, 512, 200, 200}, Row{32768, 32768, 64, 41, 199},
                         Row{131072, 131072, 64, 40, 40}}) {
    INFO(row.m);
    const auto cases = battery(gemm_of(row.m, row.n, row.k), tiled_gemm(), *chip("h200"),
                               ProofLevel::finalist, 7, true);
    int most = 0;
    for (const Case& run : cases) most = std::max(most, run.repeats);
    CHECK(most >= row.least);
    CHECK(most <= row.most);
  }
}

TEST_CASE("large steps leave no content out that a small shape can show") {
  struct Row {
    ProofLevel level;
    std::int64_t tile;
    std::size_t kinds;
  };
  for (const Row& row : {Row{ProofLevel::elite, 128, 14}, Row{ProofLevel::finalist, 256, 14},
                         Row{ProofLevel::elite, 1024, 2}}) {
    const KernelSource source =
        tiled_gemm({{"BM", row.tile}, {"BN", row.tile}, {"BK", 64}, {"STAGES", 4}, {"SPLIT", 1}});
    const Task task = gemm_of(8192, 8192, 8192);
    const PlanSteps steps = plan_steps(task, source, DeviceSpec{});
    std::set<ContentKind> kinds;
    double cost = 0;
    for (const Case& run : battery(task, source, DeviceSpec{}, row.level, 7, false)) {
      kinds.insert(run.content.kind);
      cost += padded_cost(task, steps, run.workload);
    }
    INFO(row.tile << ": " << cost);
    CHECK(kinds.size() == row.kinds);
  }
}

TEST_CASE("outputs of different loops leave the battery whole") {
  Task task;
  task.name = task.family = "count_and_copy";
  task.axes = {{"rows", AxisKind::free}, {"bins", AxisKind::free}, {"n", AxisKind::reduced}};
  Tensor x{"x", Role::in, DType::i32, {"rows", "n"}, {}, {}, {}};
  Tensor counts{"counts", Role::out, DType::i32, {"bins"}, {}, {}, {}};
  Tensor y{"y", Role::out, DType::i32, {"rows", "n"}, {}, {}, {}};
  counts.check.length = "n";
  y.check.length = 1;
  task.tensors = {x, counts, y};
  task.time_shapes = {{{{"rows", 4096}, {"bins", 4096}, {"n", 4096}}, 1}};
  KernelSource source;
  source.plan.launches = {
      {.name = "k", .entry = "k", .grid = {"cdiv(n,1024)", "cdiv(rows,32)", "cdiv(bins,256)"}}};
  std::set<ContentKind> kinds;
  const auto cases = battery(task, source, DeviceSpec{}, ProofLevel::finalist, 7, false);
  for (const Case& run : cases) kinds.insert(run.content.kind);
  CHECK(cases.size() > 15);
  CHECK(kinds.size() == 14);
}

TEST_CASE("a row that is summed anew for each of its elements costs as much where it is updated") {
  Task task;
  task.name = task.family = "softmax";
  task.axes = {{"rows", AxisKind::free}, {"n", AxisKind::reduced}};
  Tensor x{"x", Role::in, DType::f32, {"rows", "n"}, {}, {}, {}};
  Tensor y{"y", Role::out, DType::f32, {"rows", "n"}, {}, {}, {}};
  task.tensors = {x, y};
  const PlanSteps steps;
  const Workload shape{{{"rows", 4}, {"n", 100}}, 1};
  const double made = padded_cost(task, steps, shape);
  task.tensors[1].role = Role::in_out;
  CHECK(padded_cost(task, steps, shape) == made);
  CHECK(made == 4 * 100 * 100);
}

TEST_CASE("whole numbers meet lines of one value at full size") {
  Task task;
  task.name = task.family = "votes";
  task.axes = {{"bins", AxisKind::free}, {"n", AxisKind::reduced}};
  Tensor label{"label", Role::in, DType::i32, {"n"}, {}, {}, {}};
  label.fill = {.kind = FillKind::labels, .below = Expr("bins")};
  Tensor y{"y", Role::out, DType::i32, {"bins"}, {}, {}, {}};
  task.tensors = {label, y};
  task.time_shapes = {{{{"bins", 16}, {"n", 1'000'000}}, 1}};
  KernelSource source;
  source.plan.launches = {{.name = "k", .entry = "k", .grid = {"cdiv(n,1024)"}}};
  const auto in_full = [&](ProofLevel level, bool real) {
    std::vector<std::pair<ContentKind, std::uint64_t>> contents;
    for (const Case& run : battery(task, source, DeviceSpec{}, level, 7, real)) {
      if (run.workload.sizes == task.time_shapes[0].sizes)
        contents.push_back({run.content.kind, run.content.seed});
    }
    return contents;
  };
  for (const bool real : {false, true}) {
    for (const ProofLevel level : {ProofLevel::elite, ProofLevel::finalist}) {
      const auto met = in_full(level, real);
      CAPTURE(real);
      CHECK(std::count_if(met.begin(), met.end(), [](const auto& one) {
              return one.first == ContentKind::constant_rows;
            }) == 2);
      // They are what ordinary content is.
      for (const auto& [kind, seed] : met) CHECK(kind != ContentKind::integers);
    }
  }
  // Of other inputs no kind is left out.
  task.tensors.push_back({"w", Role::in, DType::f32, {"n"}, {}, {}, {}});
  task.time_shapes[0].sizes["n"] = 50'000;
  std::set<ContentKind> kinds;
  for (const auto& [kind, seed] : in_full(ProofLevel::finalist, false)) kinds.insert(kind);
  CHECK(kinds == std::set{ContentKind::ordinary, ContentKind::probe, ContentKind::integers,
                          ContentKind::special, ContentKind::range_rows,
                          ContentKind::constant_rows});
}

TEST_CASE("axes that are looked up meet many ratios") {
  Task task;
  task.name = task.family = "resize";
  task.axes = {{"from", AxisKind::free}, {"to", AxisKind::free}};
  Tensor x{"x", Role::in, DType::f32, {"from"}, {}, {}, {}};
  Tensor y{"y", Role::out, DType::f32, {"to"}, {}, {}, {}};
  task.tensors = {x, y};
  task.time_shapes = {{{{"from", 256}, {"to", 512}}, 1}};
  KernelSource source;
  source.plan.launches = {{.name = "k", .entry = "k", .grid = {"cdiv(to,128)"}, .block = {128}}};
  const auto ratios = [&] {
    std::set<std::pair<std::int64_t, std::int64_t>> met;
    for (const Case& run : battery(task, source, DeviceSpec{}, ProofLevel::finalist, 7, false)) {
      if (!run.sampled) met.emplace(run.workload.sizes.at("from"), run.workload.sizes.at("to"));
    }
    return met;
  };
  int odd_of_even = 0;
  for (const auto& [from, to] : ratios()) odd_of_even += from % 2 == 0 && to % 2 == 1 ? 1 : 0;
  CHECK(odd_of_even >= 8);
  for (const SizePair& pair : telling_ratios()) CHECK(ratios().contains({pair.from, pair.to}));
  const std::size_t looked_up = ratios().size();
  source.plan.require = {"from % 8 == 0 && to % 24 == 0"};
  std::size_t told = 0;
  for (const auto& [from, to] : ratios()) {
    bool differs = false;
    for (std::int64_t i = 0; i < to; ++i) {
      const float ratio = static_cast<float>(from) / static_cast<float>(to);
      const auto place = static_cast<std::int64_t>((static_cast<float>(i) + 0.5f) * ratio);
      differs |= place != (2 * i + 1) * from / (2 * to);
    }
    told += differs ? 1 : 0;
  }
  CHECK(told >= 1);
  source.plan.require.clear();
  task.tensors[1].shape = {"to", "from"};  // no longer looked up
  CHECK(ratios().size() + 8 < looked_up);
}

TEST_CASE("sizes tell a place by a rounded ratio") {
  using Place = std::int64_t (*)(std::int64_t i, float a, float b);
  struct Formula {
    const char* what;
    Place rounded, exact;
  };
  static const auto floor_of = [](std::int64_t i, float a, float b) {
    return i * static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b);
  };
  const Formula one = GENERATE(from_range(std::vector<Formula>{
      {"factor",
       [](std::int64_t i, float a, float b) {
         return static_cast<std::int64_t>(static_cast<float>(i) * (a / b));
       },
       floor_of},
      {"divisor",
       [](std::int64_t i, float a, float b) {
         return static_cast<std::int64_t>(static_cast<float>(i) / (b / a));
       },
       floor_of},
      {"part of one",
       [](std::int64_t i, float a, float b) {
         return static_cast<std::int64_t>(static_cast<float>(i) * (1 / b) * a);
       },
       floor_of},
  }));
  INFO(one.what);
  for (const std::int64_t unit : {1, 4}) {
    int told = 0;
    for (const SizePair& pair : telling_ratios()) {
      if (pair.from % unit != 0 || pair.to % unit != 0) continue;
      bool differs = false;
      for (std::int64_t i = 0; i < pair.to; ++i) {
        const auto a = static_cast<float>(pair.from), b = static_cast<float>(pair.to);
        differs |= one.rounded(i, a, b) != one.exact(i, a, b);
      }
      told += differs ? 1 : 0;
    }
    CHECK(told >= 1);
  }
  CHECK(telling_ratios().size() < 40);
}

TEST_CASE("sizes tell a whole quotient by a rounded reciprocal") {
  const auto divisors = telling_divisors();
  REQUIRE(divisors.size() == 3);
  for (const std::int64_t divisor : divisors.first(2)) {
    const auto real = static_cast<float>(divisor);
    CHECK(static_cast<int>(real * (1.0f / real)) == 0);
  }
  CHECK(static_cast<int>(static_cast<double>(divisors[2]) *
                         (1.0 / static_cast<double>(divisors[2]))) == 0);
  const auto cases =
      battery(gemm_of(512, 512, 512), tiled_gemm(), DeviceSpec{}, ProofLevel::finalist, 1, false);
  CHECK(reaches(cases, [&](auto, auto n, auto, auto) { return n == divisors[0]; }));
}

TEST_CASE("an infinity stands alone on its line where an output is chosen") {
  Task task;
  task.name = task.family = "most";
  task.axes = {{"rows", AxisKind::free}, {"cols", AxisKind::reduced}};
  task.tensors = {{"x", Role::in, DType::f32, {"rows", "cols"}, {}, {}, {}},
                  {"y", Role::out, DType::f32, {"rows"}, {}, {}, {}}};
  task.time_shapes = {{{{"rows", 64}, {"cols", 512}}, 1}};
  KernelSource source;
  source.plan.launches = {{.name = "k", .entry = "k", .grid = {"rows"}, .block = {128}}};
  const auto alone = [&](CheckKind kind) {
    task.tensors[1].check.kind = kind;
    const auto cases = battery(task, source, DeviceSpec{}, ProofLevel::finalist, 7, false);
    return std::any_of(cases.begin(), cases.end(), [](const Case& run) {
      return run.content.kind == ContentKind::special && run.workload.sizes.at("cols") == 1 &&
             run.workload.sizes.at("rows") >= 20;
    });
  };
  CHECK(alone(CheckKind::bitwise));
  CHECK(!alone(CheckKind::within));
}

TEST_CASE("extents that are numbers or products count in the price of a shape") {
  Task task;
  task.axes = {{"n", AxisKind::free}};
  task.tensors = {{"x", Role::in, DType::f32, {"n*(n+1)/2"}, {}, {}, {}},
                  {"y", Role::out, DType::f32, {"n", "64"}, {}, {}, {}}};
  const PlanSteps steps;
  const auto price = [&](std::int64_t n) { return padded_cost(task, steps, {{{"n", n}}, 1}); };
  CHECK(price(3) >= 3 * 64);
  CHECK(price(5000) >= 5000.0 * 5001 / 2);
}

TEST_CASE("the same question gives the same battery") {
  const auto a =
      battery(gemm_of(512, 512, 512), tiled_gemm(), DeviceSpec{}, ProofLevel::elite, 7, false);
  const auto b =
      battery(gemm_of(512, 512, 512), tiled_gemm(), DeviceSpec{}, ProofLevel::elite, 7, false);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].workload == b[i].workload);
    CHECK(a[i].content == b[i].content);
  }
}

// KernelBench level 2, tasks 10, 23 and 98: the output has a size where what it is made of has
// none.
TEST_CASE("values on the way have sizes in every case") {
  const auto task = support::graph_task(
      {support::input("x", {"n", 4, "h", "w"}), support::input("weight", {6, 4, 5, 3}),
       support::output("y", {"n", 6})},
      {{"conv", "conv2d", {"x", "weight"}, {"c"}},
       {"mean", "mean", {"c"}, {"y"}, {{"dim", std::vector<std::int64_t>{2, 3}}}}},
      {{"n", 2}, {"h", 18}, {"w", 17}});
  if (!task) FAIL(task.error().message);
  REQUIRE(task->edges.size() == 1);
  for (const ProofLevel level : {ProofLevel::candidate, ProofLevel::finalist}) {
    for (const Case& run : battery(*task, KernelSource(), DeviceSpec{}, level, 1, false)) {
      for (const Expr& extent : task->edges[0].shape) {
        const auto size = evaluate_or_error(extent, task_scope(*task, run.workload));
        INFO(extent.text << ", h " << run.workload.sizes.at("h"));
        if (!size) FAIL(size.error().message);
        CHECK(*size > 0);
      }
    }
  }
}

// KernelBench level 2, task 78: steps along each place of a volume, and 500 terms an element.
TEST_CASE("cases beyond a virtual device are cut to the time shape") {
  Attributes twice = {{"stride", std::int64_t{2}}, {"padding", std::int64_t{2}}};
  const auto task = support::graph_task(
      {support::input("x", {"n", 4, "d", "h", "w"}), support::input("weight", {4, 8, 5, 5, 5}),
       support::output("y", {"n", 8, "d*2 - 1", "2*h - 1", "2*w - 1"})},
      {{"conv", "conv_transpose3d", {"x", "weight"}, {"c"}, twice}, {"act", "relu", {"c"}, {"y"}}},
      {{"n", 2}, {"d", 7}, {"h", 8}, {"w", 9}});
  if (!task) FAIL(task.error().message);
  KernelSource source;
  source.plan.launches = {
      {.entry = "k", .grid = {"cdiv(w, 64)", "cdiv(h, 64)", "n*cdiv(d, 64)"}, .block = {128}}};
  for (const Case& run : battery(*task, source, DeviceSpec{}, ProofLevel::candidate, 1, false)) {
    for (const auto& [axis, size] : run.workload.sizes) UNSCOPED_INFO(axis << " " << size);
    CHECK(reference_terms(*task, run.workload) <= 50e6);
  }
}

TEST_CASE("a fixed axis keeps its size") {
  Task task = gemm_of(512, 512, 77);
  task.axes[3].kind = AxisKind::fixed;
  task.check_shapes.clear();
  for (const Case& run : battery(task, tiled_gemm(), DeviceSpec{}, ProofLevel::elite, 1, false)) {
    CHECK(run.workload.sizes.at("k") == 77);
  }
}

}  // namespace
}  // namespace cupilot
