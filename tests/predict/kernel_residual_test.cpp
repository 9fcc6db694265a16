#include "predict/kernel_residual.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "catch.hpp"
#include "predict/resources.hpp"

using namespace cupilot;

namespace {

// As ordinary kernels have it: counts of a loop that multiplies and adds.
ModelInput loop(double work) {
  ModelInput input;
  input.blocks = 1000;
  input.threads_per_block = 128;
  const auto set = [&](Counter counter, double value) {
    input.counts[counter] = {value, value, value, CountHow::exact};
  };
  set(Counter::warp_instructions, work);
  set(Counter::flops_fp32, 64 * work);
  set(Counter::global_load_requests, work / 16);
  set(Counter::global_load_sectors, work / 4);
  return input;
}

// A product of bf16 by warpgroups, a block an SM, 32 KiB a round.
ModelInput ring(double rounds, int registers, double text) {
  ModelInput input;
  input.blocks = 132;
  input.threads_per_block = 384;
  input.registers = registers;
  input.shared_bytes = 200 << 10;
  input.rounds = rounds;
  input.rounds_ahead = 5;
  input.repeated_text = text;
  const double all = 132 * rounds;
  const auto set = [&](Counter counter, double value) {
    input.counts[counter] = {value, value, value, CountHow::exact};
  };
  set(Counter::ops_tensor_bf16, all * 2 * 128 * 128 * 64);
  set(Counter::async_copy_bytes, all * 32768);
  set(Counter::global_load_sectors, all * 1024);
  set(Counter::global_load_requests, all * 2);
  set(Counter::l2_bytes, all * 32768);
  set(Counter::dram_read_bytes, all * 4096);
  set(Counter::warp_instructions, all * 500);
  set(Counter::barriers, 132 * 12);
  set(Counter::global_store_sectors, 132 * 1024);
  set(Counter::global_store_requests, 132 * 16);
  return input;
}

std::vector<double> coordinates(const ModelInput& input) {
  const DeviceSpec device = *chip("h100");
  return resource_coordinates(device, {input}, model_time(device, {input}));
}

Task task_of(const std::string& kind) {
  Task task;
  task.operations.push_back({"it", kind});
  return task;
}
Task product() { return task_of("matmul"); }

std::string point(double error, double value) {
  std::string row = fmt::format("[{}", error);
  for (std::size_t i = 0; i < resource_names().size(); ++i) row += fmt::format(",{}", value);
  return row + "]";
}

std::string file(const std::string& points, const std::string& more = "") {
  return R"({"cupilot_residual":2,"device":"h100","deviation":0.4,"noise":0.01,)"
         R"("weights":{"us":1},"from":["one"],"points":[)" +
         points + "]" + more + "}";
}

}  // namespace

TEST_CASE("a residual corrects what is near its points, and nothing far from them") {
  const auto data = residual_data(file(point(0.5, 3) + "," + point(-0.5, 20)), "it");
  REQUIRE(data);
  const KernelResidual residual(*data);
  std::vector<double> at(resource_names().size(), 3);
  const ResidualGuess near = residual.guess(at);
  CHECK(near.mean > 0.45);
  CHECK(near.mean <= 0.5);
  CHECK(near.sigma < 0.1);
  at.assign(at.size(), 20);
  CHECK(residual.guess(at).mean < -0.45);
  at.assign(at.size(), 11);
  const ResidualGuess far = residual.guess(at);
  CHECK(std::abs(far.mean) < 1e-3);
  CHECK(far.sigma > 0.39);
}

TEST_CASE("a coordinate without a weight does not matter") {
  const auto data = residual_data(file(point(0.5, 3)), "it");
  REQUIRE(data);
  const KernelResidual residual(*data);
  std::vector<double> at(resource_names().size(), -9);
  at[static_cast<std::size_t>(std::find(resource_names().begin(), resource_names().end(), "us") -
                              resource_names().begin())] = 3;
  CHECK(residual.guess(at).mean > 0.45);
}

TEST_CASE("files that are no residual are refused by name") {
  const struct {
    std::string text, said;
  } rows[] = {{"{}", "points"},
              {R"({"cupilot_residual":9})", "version 9"},
              {file(""), "points"},
              {file("[1,2]"), "points"},
              {file("[\"a\"]"), "points"},
              {file(point(0, 1), R"(,"else":1)"), "else"},
              {R"({"cupilot_residual":2,"device":"x","weights":{"nothing":1},"points":[]})",
               "weights.nothing"},
              {R"({"cupilot_residual":2,"device":"x","weights":{},"deviation":-1,"points":[]})",
               "deviation"},
              {"[", "it"}};
  for (const auto& row : rows) {
    INFO(row.text.substr(0, 80));
    const auto data = residual_data(row.text, "it");
    REQUIRE_FALSE(data);
    CHECK(data.error().message.find(row.said) != std::string::npos);
  }
}

TEST_CASE("every kernel has all coordinates, however little it does") {
  CHECK(coordinates({}).size() == resource_names().size());
  const std::vector<double> all = coordinates(loop(1e8));
  REQUIRE(all.size() == resource_names().size());
  for (const double value : all) CHECK(std::isfinite(value));
  // Twice the work of the same kind differs in time alone, not in its mix.
  const std::vector<double> twice = coordinates(loop(2e8));
  const auto of = [&](const std::vector<double>& from, std::string_view name) {
    const auto found = std::find(resource_names().begin(), resource_names().end(), name);
    return from[static_cast<std::size_t>(found - resource_names().begin())];
  };
  CHECK(of(twice, "us") > of(all, "us") + 0.8);
  CHECK(of(twice, "narrow") == of(all, "narrow"));
  CHECK(of(twice, "resident") == of(all, "resident"));
}

TEST_CASE("a predicted time is the model's, corrected, and never below the floor") {
  const DeviceSpec device = *chip("h100");
  const std::vector<ModelInput> launches = {loop(1e8)};
  const ModelledTime model = model_time(device, launches);
  const ModelledTime predicted = predicted_time(device, product(), launches);
  CHECK(std::abs(predicted.us / (model.us * predicted.correction) - 1) < 1e-9);
  CHECK(predicted.sigma > 0);
  CHECK(predicted.low_us <= predicted.us);
  CHECK(predicted.high_us >= predicted.us);
  // No residual was learnt on it.
  const DeviceSpec other = *chip("a100");
  CHECK(predicted_time(other, product(), launches).us == model_time(other, launches).us);
  CHECK(predicted_time(other, product(), launches).sigma == 0);
  // One of the launches of many kinds is corrected downwards.
  ModelInput fast = ring(1, 128, 0);
  const auto keep = [&](const ModelInput& one) {
    if (predicted_time(device, product(), {one}).correction <
        predicted_time(device, product(), {fast}).correction)
      fast = one;
  };
  for (double rounds = 1; rounds < 1e4; rounds *= 1.5) {
    for (const int registers : {96, 128, 168}) {
      for (const double text : {0.0, 100.0, 400.0}) keep(ring(rounds, registers, text));
    }
  }
  for (double steps = 1e4; steps < 1e11; steps *= 1.5) keep(loop(steps));
  const ModelledTime modelled = model_time(device, {fast});
  const ModelledTime unbound = predicted_time(device, product(), {fast});
  REQUIRE(unbound.correction < 0.998);
  const double floor = modelled.us * (1 + unbound.correction) / 2;
  const ModelledTime bound = predicted_time(device, product(), {fast}, floor);
  CHECK(bound.us == Approx(floor));
  CHECK(bound.low_us >= modelled.low_us * (1 + unbound.correction) / 2 * (1 - 1e-9));
  CHECK(predicted_time(device, product(), {}, floor).us == model_time(device, {}).us);
  // Of another operator nothing was learnt.
  const ModelledTime other_task = predicted_time(device, task_of("relu"), {fast});
  CHECK(other_task.us == modelled.us);
  CHECK(other_task.correction == 1);
  CHECK(other_task.sigma >= 0.9 * unbound.sigma);
}

TEST_CASE("what no landscape is like keeps the model's time") {
  // One thread that divides for a second: no recorded kernel is near.
  ModelInput alone;
  alone.threads_per_block = 1;
  alone.counts[Counter::warp_instructions] = {1e9, 1e9, 1e9, CountHow::exact};
  alone.counts[Counter::flops_fp64] = {1e9, 1e9, 1e9, CountHow::exact};
  const ModelledTime time = predicted_time(*chip("h100"), product(), {alone});
  CHECK(std::abs(std::log2(time.correction)) < 0.2);
}
