// Staged references: what operations make of rows, and the values that stored and direct stages
// give.
#include <cmath>
#include <numeric>

#include "catch.hpp"
#include "ptx/machine/runner.hpp"
#include "task/operators.hpp"
#include "task/reference_program.hpp"
#include "task/reference_stages.hpp"
#include "task/shape_rules.hpp"
#include "task/stage_plan.hpp"

namespace cupilot {
namespace {

using support::Device;

// A task of one operation over axes named as in its shapes.
Task task_of(const std::string& op, std::vector<Tensor> tensors, Attributes attributes,
             Sizes sizes) {
  Task task;
  task.name = "one";
  for (const auto& [name, size] : sizes) task.axes.push_back({name, AxisKind::free});
  Operation operation{.name = "one", .kind = op, .attributes = std::move(attributes)};
  for (const Tensor& tensor : tensors)
    (tensor.role == Role::out ? operation.outputs : operation.inputs).push_back(tensor.name);
  task.tensors = std::move(tensors);
  task.operations = {operation};
  task.time_shapes = {{.sizes = std::move(sizes)}};
  return task;
}

// The values of one output, in the tracked build: stages stored, or computed where they are read.
std::vector<double> values_of(const Task& task, const std::vector<std::vector<float>>& inputs,
                              const std::string& output, std::int64_t count, bool store) {
  const Workload& shape = task.time_shapes[0];
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  const auto module = support::module_of_cuda(program.text);
  const StagePlan plan =
      *stage_plan(task, program, ReferenceBuild::tracked, shape, output, count, store);
  Device device;
  std::vector<std::uint64_t> head;
  for (const auto& values : inputs)
    head.push_back(device.memory.address(device.input("in", values)));
  for (const Axis& axis : task.axes)
    head.push_back(static_cast<std::uint64_t>(shape.sizes.at(axis.name)));
  std::vector<std::uint64_t> buffers;
  for (const std::int64_t bytes : plan.buffers)
    buffers.push_back(
        device.memory.address(device.output("stage", static_cast<std::size_t>(bytes))));
  const auto address = [&](int buffer) {
    return buffer < 0 ? 0 : buffers[static_cast<std::size_t>(buffer)];
  };
  for (const int buffer : plan.stored) head.push_back(address(buffer));
  const auto run = [&](const std::string& entry, std::int64_t threads,
                       std::vector<std::uint64_t> words) {
    words.insert(words.begin(), head.begin(), head.end());
    ptx::Launch launch;
    launch.grid.x = static_cast<std::uint32_t>((threads + 255) / 256);
    launch.block.x = 256;
    launch.parameters.resize(words.size() * 8);
    std::memcpy(launch.parameters.data(), words.data(), words.size() * 8);
    const auto made = ptx::make_program(module, entry);
    REQUIRE(made);
    const auto report = ptx::execute(**made, device.memory, launch, {});
    REQUIRE(report);
    REQUIRE(support::faults_of(*report) == "");
  };
  for (const StageLaunch& stage : plan.launches) {
    run(stage.entry, stage.count,
        {address(stage.from), address(stage.out), static_cast<std::uint64_t>(stage.span),
         static_cast<std::uint64_t>(stage.parts), static_cast<std::uint64_t>(stage.from_parts),
         static_cast<std::uint64_t>(stage.count)});
  }
  const std::size_t values = device.output("values", static_cast<std::size_t>(count) * 8);
  const std::size_t sums = device.output("sums", static_cast<std::size_t>(count) * 8);
  const std::size_t begins = device.input("begins", std::vector<long long>{0});
  for (const ReferenceEntry& entry : program.entries) {
    if (entry.tensor == output)
      run(entry.entry, count,
          {device.memory.address(values), device.memory.address(sums),
           device.memory.address(begins), static_cast<std::uint64_t>(count),
           static_cast<std::uint64_t>(count)});
  }
  return device.values<double>(values);
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(i) * 0.7f) * 3.0f;
  return values;
}

TEST_CASE("stages of softmax give its values, stored and direct bit for bit alike") {
  const Task made = [] {
    Task task = task_of("softmax",
                        {{.name = "x", .shape = {"rows", "cols"}},
                         {.name = "y", .role = Role::out, .shape = {"rows", "cols"}}},
                        {{"dim", std::int64_t{1}}}, {{"cols", 1300}, {"rows", 3}});
    const auto done = complete(task);
    INFO((done ? "" : done.error().message));
    REQUIRE(done);
    return task;
  }();
  REQUIRE(made.reference.stages.size() == 3);
  CHECK(made.reference.stages[2].name == "y");
  CHECK(made.tensors[1].check.length.text == "cols");
  const auto x = ramp(3900);
  const auto stored = values_of(made, {x}, "y", 3900, true);
  CHECK(stored == values_of(made, {x}, "y", 3900, false));
  for (std::size_t row = 0; row < 3; ++row) {
    double total = 0;
    for (std::size_t c = 0; c < 1300; ++c) total += std::exp(double(x[row * 1300 + c]));
    for (std::size_t c = 0; c < 1300; c += 97)
      CHECK(stored[row * 1300 + c] ==
            Approx(std::exp(double(x[row * 1300 + c])) / total).epsilon(1e-12));
  }
}

TEST_CASE("a long fold is spread over launches and gives the bits of one thread") {
  Task task = task_of("sum",
                      {{.name = "x", .shape = {"n"}}, {.name = "y", .role = Role::out, .shape = {1}}},
                      {}, {{"n", 300000}});
  REQUIRE(complete(task));
  const auto x = ramp(300000);
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  const StagePlan plan =
      *stage_plan(task, program, ReferenceBuild::tracked, task.time_shapes[0], "y", 1);
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].count == 586);
  CHECK(values_of(task, {x}, "y", 1, true) == values_of(task, {x}, "y", 1, false));
}

}  // namespace
}  // namespace cupilot
