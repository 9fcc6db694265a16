#include "catch.hpp"

#include <cupilot/verdict.hpp>

#include "roofline/gemm_counts.hpp"
#include "support/gemm.hpp"
#include "support/graph.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

DeviceSpec h200() { return *chip("h200"); }

Task gemm(std::int64_t m, std::int64_t n, std::int64_t k, DType type = DType::f32) {
  auto task = gemm_task({.m = m, .n = n, .k = k, .dtype = type});
  if (!task) FAIL(task.error().message);
  return *task;
}

Measurement modelled(const ModelInput& input) {
  const ModelledTime time = model_time(h200(), {input});
  Measurement measurement;
  measurement.time_us = time.us;
  measurement.binding = time.binding;
  measurement.counts = input.counts;
  measurement.counts.source = CounterSource::interpreted;
  return measurement;
}

}  // namespace

TEST_CASE("zones follow intensity and two ridges", "[roofline]") {
  struct Row {
    std::int64_t m, n, k;
    DType type;
    Zone zone;
  };
  const Row row = GENERATE(values<Row>({
      {1, 4096, 4096, DType::f32, Zone::memory},     // half an operation a byte
      {512, 512, 512, DType::f32, Zone::compute},    // 85; the only ridge at 13.9
      {1, 4096, 4096, DType::bf16, Zone::memory},    //
      {128, 4096, 4096, DType::bf16, Zone::middle},  // 121: between 13.9 and 206
      {4096, 4096, 4096, DType::bf16, Zone::compute},
  }));
  const Task task = gemm(row.m, row.n, row.k, row.type);
  INFO(row.m << "x" << row.n << "x" << row.k);
  CHECK(zone_of(task, task.time_shapes[0], h200()) == row.zone);
}

TEST_CASE("the floor is bytes or operations, whichever takes longer", "[roofline]") {
  const Task square = gemm(4096, 4096, 4096);
  const auto floor = floor_us(square, square.time_shapes[0], h200(), Precision::fp32_strict);
  REQUIRE(floor);
  CHECK(*floor == Approx(2 * std::pow(4096, 3) / 66.9e12 * 1e6));
  CHECK(*floor_us(square, square.time_shapes[0], h200(), Precision::tf32) < *floor / 7);
  const Task vector = gemm(1, 4096, 4096);
  CHECK(*floor_us(vector, vector.time_shapes[0], h200(), Precision::fp32_strict) ==
        Approx(4096 * 4097 * 4 / 4.8e12 * 1e6).epsilon(1e-3));
  DeviceSpec unknown = h200();
  unknown.peak_flops.fill(0);
  REQUIRE_FALSE(floor_us(square, square.time_shapes[0], unknown, Precision::fp32_strict));
}

TEST_CASE("output that L2 can hold is not part of the floor", "[roofline]") {
  // An outer product: 64 MB out, next to nothing in. 50 MiB of it may stay in L2.
  const Task outer = gemm(4096, 4096, 1);
  const auto floor = floor_us(outer, outer.time_shapes[0], h200(), Precision::fp32_strict);
  REQUIRE(floor);
  const double bytes = 4.0 * 4096 * 4096 + 2 * 4.0 * 4096 - 50 * 1024 * 1024;
  CHECK(*floor == Approx(bytes / 4.8e12 * 1e6).epsilon(1e-6));
}

TEST_CASE("the floor of a short cut is what was executed", "[roofline]") {
  using support::input, support::output;
  const auto task = support::graph_task(
      {input("x", {"m", "cols"}), input("w", {"n", "cols"}), output("z", {"m", "n"})},
      {{"product", "linear", {"x", "w"}, {"y"}}, {"act", "relu", {"y"}, {"z"}}},
      {{"m", 4096}, {"n", 4096}, {"cols", 4096}});
  if (!task) FAIL(task.error().message);
  const Workload& shape = task->time_shapes.front();
  const double floor = *floor_us(*task, shape, h200(), Precision::fp32_strict);
  const double all = static_cast<double>(*textbook_flops(*task, shape));
  struct Row {
    double time, executed;  // shares of the floor, and of the task's operations
    CountHow instructions;
    bool short_cut;
  };
  for (const Row& row :
       {Row{0.5, 0.1, CountHow::exact, true}, Row{0.5, 0.1, CountHow::unknown, false},
        Row{0.98, 0.1, CountHow::exact, false},  // clocks, not operations
        Row{0.5, 1, CountHow::exact, false}, Row{2, 0.1, CountHow::exact, false}}) {
    INFO(row.time << " of the floor, " << row.executed << " of the operations");
    Measurement measurement;
    measurement.time_us = row.time * floor;
    measurement.counts.source = CounterSource::counters;
    for (Count& one : measurement.counts.all) one.how = CountHow::exact;
    measurement.counts[Counter::warp_instructions].how = row.instructions;
    measurement.counts[Counter::flops_fp32].value = row.executed * all;
    const auto verdict = judge(*task, shape, h200(), measurement);
    if (!verdict) FAIL(verdict.error().message);
    CHECK((verdict->floor_us < 0.9 * floor) == row.short_cut);
    CHECK((verdict->digest.back().find("short cut") != std::string::npos) == row.short_cut);
  }
}

TEST_CASE("a verdict names what binds and says so in numbers", "[roofline]") {
  const Task task = gemm(1024, 1024, 1024);
  const auto verdict =
      judge(task, task.time_shapes[0], h200(), modelled(plain_gemm(1024, 1024, 1024)));
  REQUIRE(verdict);
  CHECK(verdict->zone == Zone::compute);
  CHECK(verdict->source == CounterSource::interpreted);
  CHECK(verdict->floor_share > 0);
  CHECK(verdict->floor_share < 0.2);
  CHECK(verdict->utilisation < 0.2);
  CHECK(verdict->ridge_plain == Approx(13.94).epsilon(0.01));
  for (std::size_t i = 1; i < verdict->bottlenecks.size(); ++i)
    CHECK(verdict->bottlenecks[i].share <= verdict->bottlenecks[i - 1].share);
  for (const Bottleneck& pressure : verdict->bottlenecks) {
    CHECK(pressure.share >= 0);
    CHECK(pressure.share <= 1);
  }
  const bool paths = verdict->binding == Resource::shared || verdict->binding == Resource::l2;
  CHECK(paths);
  REQUIRE(verdict->digest.size() >= 4);
  CHECK(verdict->digest[0].find("modelled time") == 0);
  CHECK(verdict->digest[1].find("compute zone") != std::string::npos);

  const Task big = gemm(4096, 4096, 4096);
  const auto good = judge(big, big.time_shapes[0], h200(),
                          modelled(simt_gemm(4096, 4096, 4096, {128, 128, 8, 8, 8, 128, 3})));
  REQUIRE(good);
  CHECK(good->utilisation > 0.5);
  CHECK(good->utilisation > verdict->utilisation);
}

TEST_CASE("without counts a verdict is analytic", "[roofline]") {
  const Task task = gemm(512, 512, 512);
  Measurement measurement;
  measurement.provenance = Provenance::measured;
  measurement.time_us = 20;
  const auto verdict = judge(task, task.time_shapes[0], h200(), measurement);
  REQUIRE(verdict);
  CHECK(verdict->source == CounterSource::analytic);
  CHECK(verdict->achieved_flops == Approx(2 * std::pow(512, 3) / 20e-6));
  CHECK(verdict->digest[0].find("measured time") == 0);
  // The work that the task asks for needs its part of the pipe; what it does not explain is
  // waiting.
  const DeviceSpec device = h200();
  const double pipe = 2 * std::pow(512, 3) /
                      device.peak_flops[static_cast<std::size_t>(Precision::fp32_strict)] / 20e-6;
  const auto share = [&](Resource resource) {
    for (const Bottleneck& pressure : verdict->bottlenecks) {
      if (pressure.resource == resource) return pressure.share;
    }
    return -1.0;
  };
  CHECK(share(Resource::fp_pipe) == Approx(pipe).epsilon(0.2));
  CHECK(share(Resource::latency) ==
        Approx(1 - device.launch_seconds / 20e-6 - share(Resource::fp_pipe)).epsilon(0.01));
  CHECK(share(Resource::shared) == -1);
  measurement.time_us = 0;
  CHECK_FALSE(judge(task, task.time_shapes[0], h200(), measurement));
}
