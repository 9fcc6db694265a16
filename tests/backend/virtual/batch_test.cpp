// A batch is counted as what it is: matrices that a kernel repeats whole.
#include "backend/virtual/counts.hpp"
#include "backend/virtual/measure.hpp"
#include "catch.hpp"
#include "tests/backend/template_kernels.hpp"

namespace cupilot {
namespace {

Use use(const char* technique, std::map<std::string, std::int64_t> values = {}) {
  return {technique, std::move(values), "", {}};
}

// A batch of products whose second operand all share, or none.
Task product_axes(bool shared) {
  Task task;
  task.axes = {{"batch", AxisKind::free},
               {"m", AxisKind::free},
               {"n", AxisKind::free},
               {"k", AxisKind::reduced}};
  const std::vector<Expr> second =
      shared ? std::vector<Expr>{"k", "n"} : std::vector<Expr>{"batch", "k", "n"};
  task.tensors = {Tensor{"A", Role::in, DType::f32, {"batch", "m", "k"}, {}, {}, {}},
                  Tensor{"B", Role::in, DType::f32, second, {}, {}, {}},
                  Tensor{"bias", Role::in, DType::f32, {"n"}, {}, {}, {}},
                  Tensor{"D", Role::out, DType::f32, {"batch", "m", "n"}, {}, {}, {}}};
  return task;
}

Task batched_axes() {
  Task task;
  task.axes = {{"batch", AxisKind::free},
               {"m", AxisKind::free},
               {"n", AxisKind::free},
               {"k", AxisKind::reduced}};
  Tensor d{"D", Role::out, DType::f32, {"batch", "m", "n"}, {}, {}, {}};
  task.tensors = {d};
  return task;
}

// Launches whose grids are as long as these functions of the workload.
PlanAt plan_of(std::vector<std::function<std::int64_t(const Sizes&)>> grids) {
  return [grids = std::move(grids)](const Workload& at) -> Attempt<Resolution> {
    ResolvedPlan plan;
    for (const auto& grid : grids) {
      ResolvedLaunch launch;
      launch.grid = {grid(at.sizes), 1, 1};
      plan.launches.push_back(launch);
    }
    return Resolution{plan};
  };
}

std::int64_t tiles(const Sizes& s) {
  return s.at("batch") * ((s.at("m") + 127) / 128) * ((s.at("n") + 127) / 128);
}

TEST_CASE("Axes whose units are repeated whole are told from tiled ones by the plan's grids") {
  struct Row {
    const char* what;
    PlanAt plan;
    std::set<std::string> repeated;
  };
  const std::vector<Row> rows = {
      {"a block a tile", plan_of({tiles}), {"batch"}},
      {"blocks that stay",
       plan_of({[](const Sizes& s) { return std::min<std::int64_t>(tiles(s), 132); }}),
       {"batch"}},
      {"a block a row",
       plan_of({[](const Sizes& s) { return s.at("batch") * s.at("m"); }}),
       {"batch", "m"}},
      {"a launch that does not grow",
       plan_of({tiles, [](const Sizes&) { return std::int64_t{132}; }}),
       {}},
      {"two matrices a block",
       plan_of({[](const Sizes& s) { return (s.at("batch") + 1) / 2; }}),
       {}},
      {"not for fewer",
       [](const Workload& at) -> Attempt<Resolution> {
         if (at.sizes.at("batch") < 4) return Resolution{NotForThisShape{"batch"}};
         return Resolution{ResolvedPlan{}};
       },
       {}},
  };
  const Workload full{{{"batch", 128}, {"m", 500}, {"n", 2048}, {"k", 1024}}, 1};
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(repeated_axes(batched_axes(), row.plan, full, 128) == row.repeated);
  }
}

TEST_CASE("Units with operands of their own repeat whole where the blocks stay") {
  const PlanAt stays = plan_of({[](const Sizes&) { return std::int64_t{132}; }});
  const PlanAt beside = plan_of({[](const Sizes&) { return std::int64_t{132}; }, tiles});
  const Workload full{{{"batch", 128}, {"m", 512}, {"n", 2048}, {"k", 1024}}, 1};
  const std::set<std::string> batch = {"batch"}, none;
  CHECK(repeated_axes(product_axes(false), stays, full, 512) == batch);
  CHECK(repeated_axes(product_axes(false), beside, full, 512) == batch);
  CHECK(repeated_axes(product_axes(true), stays, full, 512) == none);
  CHECK(repeated_axes(batched_axes(), stays, full, 512) == none);  // no operand is known
}

TEST_CASE("For blocks that stay, launches beside them may never change") {
  const auto always = [](const Sizes&) { return std::int64_t{18}; };
  const auto by_columns = [](const Sizes& s) { return (s.at("n") + 127) / 128; };
  const auto stay = [](const Sizes& s) { return std::min<std::int64_t>(tiles(s), 132); };
  const Workload full{{{"batch", 16}, {"m", 500}, {"n", 2048}, {"k", 1024}}, 1};
  const std::set<std::string> batch = {"batch"}, none;
  const auto of = [&](const Task& task, const PlanAt& plan) {
    return repeated_axes(task, plan, full, 128, Repeating::staying);
  };
  CHECK(of(batched_axes(), plan_of({stay, always})) == batch);
  CHECK(of(batched_axes(), plan_of({always})) == none);
  // A tile of columns more than one: the second launch has as many blocks at one to three alone.
  CHECK(of(batched_axes(), plan_of({stay, by_columns})) == batch);
  // Operands of their own, whatever the grids.
  CHECK(of(product_axes(false), plan_of({[](const Sizes& s) {
             return std::min<std::int64_t>(s.at("batch") * 100, 132);
           }})) == batch);
  CHECK(of(product_axes(true), plan_of({[](const Sizes& s) {
             return std::min<std::int64_t>(s.at("batch") * 100, 132);
           }})) == none);
}

TEST_CASE("A repeated axis is counted at one unit and two, however long it is") {
  const Workload full{{{"batch", 128}, {"m", 512}, {"n", 2048}, {"k", 1024}}, 1};
  const auto axes = shrunk_axes(batched_axes(), full, 128, 2, {"batch"});
  REQUIRE(!axes.empty());
  CHECK(axes[0].axis == "batch");
  CHECK(axes[0].low == 1);
  CHECK(axes[0].high == 2);
}

TEST_CASE("Host memory is kept small by fewer matrices, once a matrix is as small as may be") {
  const Workload full{{{"batch", 128}, {"m", 512}, {"n", 2048}, {"k", 1024}}, 1};
  const PlanAt plan = plan_of({tiles});
  const Workload smaller = counting_workload(batched_axes(), plan, full, 512);
  CHECK(host_bytes(batched_axes(), plan, smaller) <= counting_bytes);
  CHECK(smaller.sizes.at("batch") < 128);
  CHECK(smaller.sizes.at("batch") >= 2);
  CHECK(smaller.sizes.at("m") == 512);
}

TEST_CASE("A time from extrapolated counts below the floor is turned above it, and says so") {
  Measurement low;
  low.time_us = low.interval_low_us = low.interval_high_us = 400;
  low.samples_us = {400};
  turn_at_floor(low, 1600);
  CHECK(low.time_us == Approx(6400));
  CHECK(low.interval_low_us == 1600);
  CHECK(low.interval_high_us == Approx(6400));
  CHECK(low.samples_us == std::vector<double>{low.time_us});
  REQUIRE(low.conditions.size() == 1);
  CHECK(low.conditions[0].find("400") != std::string::npos);
  Measurement honest;
  honest.time_us = 2000;
  turn_at_floor(honest, 1600);
  CHECK(honest.time_us == 2000);
  CHECK(honest.conditions.empty());
}

TEST_CASE("A batch of twice as many matrices is modelled at twice the time, above the floor",
          "[templates]") {
  const std::vector<Use> uses = {use("block_tile", {{"block_m", 128}, {"block_n", 128}}),
                                 use("streamed_simt_core", {{"thread_m", 8}, {"thread_n", 16}}),
                                 use("lane_grid", {{"lanes_m", 4}}),
                                 use("k_slab", {{"block_k", 16}}),
                                 use("multistage", {{"stages", 4}})};
  std::vector<double> times;
  for (const char* batch : {"batch=256", "batch=512"}) {
    const Task task = gemm({"m=512", "n=512", "k=512", batch, "dtype=fp32", "precision=tf32x3"});
    const CompiledKernel kernel = kernel_of(task, uses);
    const Subject own[] = {{Subject::Kind::candidate, "own", &kernel}};
    const auto reports = virtual_h200().measure(TaskRef(task), task.time_shapes.front(), own, {});
    REQUIRE(reports);
    REQUIRE(reports->front().measurement);
    const Measurement& measured = *reports->front().measurement;
    const auto floor =
        floor_us(task, task.time_shapes.front(), virtual_h200().device(), kernel.facts.ceiling);
    REQUIRE(floor);
    CHECK(measured.time_us > *floor);
    // Nothing but how its launches, where it has several, are modelled: no floor held it.
    for (const std::string& condition : measured.conditions)
      CHECK(condition.starts_with("modelled as one captured graph"));
    times.push_back(measured.time_us);
  }
  CHECK(times[1] / times[0] == Approx(2).epsilon(0.15));  // corrections differ a little
}

TEST_CASE("A time of less than half of the textbook's work says so, and its interval reaches up") {
  struct Row {
    double fp32, tensor, integer;
    bool products_alone, flagged;
    double high_us;
  };
  const auto row = GENERATE(values<Row>({
      {1000, 0, 0, true, false, 110},
      {300, 300, 0, true, false, 110},
      {500, 0, 0, true, false, 110},
      {100, 0, 1000, true, true, 500},  // addresses are no products
      {100, 0, 1000, false, false, 110},
      {0, 0, 0, false, true, 10000},
      {499, 0, 0, true, true, 110},
  }));
  Measurement time;
  time.time_us = 100;
  time.interval_high_us = 110;
  time.counts[Counter::flops_fp32].value = row.fp32;
  time.counts[Counter::ops_tensor_tf32].value = row.tensor;
  time.counts[Counter::integer_ops].value = row.integer;
  flag_little_work(time, counted_operations(time.counts, row.products_alone), 1000);
  INFO(row.fp32 << " " << row.tensor << " " << row.integer);
  CHECK(time.conditions.size() == (row.flagged ? 1 : 0));
  CHECK(time.interval_high_us == Approx(row.high_us));
  CHECK(time.time_us == 100);
  Measurement copy;
  flag_little_work(copy, 0, 0);
  CHECK(copy.conditions.empty());
}

TEST_CASE("Blocks that stay for many products of a batch are counted with all of their work",
          "[templates]") {
  const auto task = task_from_words(
      {"gemm", "batch=128", "m=512", "n=2048", "k=1024", "dtype=fp32", "precision=fp32-strict"});
  REQUIRE(task);
  const std::vector<Use> uses = {use("streamed_simt_core", {{"thread_m", 8}, {"thread_n", 16}}),
                                 use("block_tile", {{"block_m", 128}, {"block_n", 256}}),
                                 use("k_slab", {{"block_k", 32}}),
                                 use("multistage", {{"stages", 4}}),
                                 use("lane_grid", {{"lanes_m", 4}}),
                                 use("persistent", {{"waves", 1}}),
                                 use("warp_specialisation", {{"consumers", 2}}),
                                 use("fragment_double_buffer"),
                                 use("transpose_on_load"),
                                 use("serpentine")};
  check_kept(*task, uses);
  const CompiledKernel kernel = kernel_of(*task, uses);
  const Subject own[] = {{Subject::Kind::candidate, "own", &kernel}};
  const auto reports = virtual_h200().measure(TaskRef(*task), task->time_shapes.front(), own, {});
  REQUIRE(reports);
  REQUIRE(reports->front().measurement);
  CHECK(reports->front().measurement->counts[Counter::flops_fp32].value ==
        Approx(2.0 * 128 * 512 * 2048 * 1024).epsilon(0.03));
}

}  // namespace
}  // namespace cupilot
