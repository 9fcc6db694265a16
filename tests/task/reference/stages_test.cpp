// Staged references: what operations make of rows, and the values that stored and direct stages
// give.
#include <cmath>
#include <numeric>

#include <cupilot/family.hpp>
#include <cupilot/task.hpp>

#include "base/json.hpp"
#include "catch.hpp"
#include "task/operators.hpp"
#include "task/reference/program.hpp"
#include "task/reference/stage_plan.hpp"
#include "task/reference/staged_values.hpp"
#include "task/reference/stages.hpp"
#include "task/rules/apply.hpp"

namespace cupilot {
namespace {

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
std::vector<double> values_of(const Task& task, const std::vector<float>& input,
                              const std::string& output, std::int64_t count, bool store) {
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  testing::StagedRun run(task, program, support::module_of_cuda(program.text),
                         {testing::bytes_of(input)});
  return run.values(output, count, store).values;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i) * 0.7f) * 3.0f;
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
  const auto stored = values_of(made, x, "y", 3900, true);
  CHECK(stored == values_of(made, x, "y", 3900, false));
  for (std::size_t row = 0; row < 3; ++row) {
    double total = 0;
    for (std::size_t c = 0; c < 1300; ++c) total += std::exp(double(x[row * 1300 + c]));
    for (std::size_t c = 0; c < 1300; c += 97)
      CHECK(stored[row * 1300 + c] ==
            Approx(std::exp(double(x[row * 1300 + c])) / total).epsilon(1e-12));
  }
}

TEST_CASE("a long fold is spread over launches and gives the bits of one thread") {
  Task task = task_of(
      "sum", {{.name = "x", .shape = {"n"}}, {.name = "y", .role = Role::out, .shape = {1}}}, {},
      {{"n", 300000}});
  REQUIRE(complete(task));
  const auto x = ramp(300000);
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  const StagePlan plan =
      *stage_plan(task, program, ReferenceBuild::tracked, task.time_shapes[0], "y", 1);
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].count == 586);
  CHECK(values_of(task, x, "y", 1, true) == values_of(task, x, "y", 1, false));
}

TEST_CASE("an output that reads long folds of few values waits for no thread of its own") {
  // The running mean reads a fold of 100000 terms a channel, which a thread would fold alone.
  const auto launches = [](const std::string& channels, std::int64_t wanted) {
    const Task task = *task_from_words({"kernelbench:1/33", "n=4", channels, "h=100", "w=250"});
    const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
    return stage_plan(task, program, ReferenceBuild::tracked, task.time_shapes[0], "running_mean",
                      wanted)
        ->launches;
  };
  REQUIRE(launches("c=8", 8).size() >= 2);
  CHECK(launches("c=8", 8)[0].count == 8 * 196);
  // For two values alone, storing all folds would be more work than a warp's.
  CHECK(launches("c=512", 2).empty());
}

TEST_CASE("folds that follow the loop of another one are stored before it") {
  // A loss over 512 rows reads each row's maximum and sum: computed in place, a thread would do it
  // all.
  Task task = task_of("cross_entropy",
                      {{.name = "x", .shape = {"rows", "cols"}},
                       {.name = "target",
                        .type = DType::i64,
                        .shape = {"rows"},
                        .fill = {.kind = FillKind::labels, .below = "cols"}},
                       {.name = "y", .role = Role::out, .shape = {1}}},
                      {}, {{"cols", 4096}, {"rows", 512}});
  REQUIRE(complete(task));
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  const StagePlan plan =
      *stage_plan(task, program, ReferenceBuild::tracked, task.time_shapes[0], "y", 1);
  CHECK(plan.launches.size() >= 2);
  CHECK(plan.terms >= 2 * 512 * 4096);
  CHECK(reference_terms(task, task.time_shapes[0]) >= 2 * 512 * 4096);
}

TEST_CASE("folds that one thread would compute one after the other are stored") {
  // A loss of one element over the distances of many rows: stored, they cost no term less.
  const Task task = *task_from_words({"kernelbench:1/99"}, builtin_families());
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  const Workload shape = {{{"rows", 3072}, {"cols", 3072}}};
  const StagePlan plan = *stage_plan(task, program, ReferenceBuild::tracked, shape, "y", 1);
  REQUIRE(plan.launches.size() >= 2);
  for (const StageLaunch& launch : plan.launches) CHECK(launch.count >= 3072);
}

TEST_CASE("a task whose keys were sorted keeps the order of its stages' coordinates") {
  for (const char* word : {"kernelbench:1/23", "kernelbench:1/40", "kernelbench:1/50"}) {
    CAPTURE(word);
    const Task task = *task_from_words({word}, builtin_families());
    const std::string text = *task_to_json(task);
    const std::string sorted = SortedJson::parse(text).dump();
    REQUIRE(sorted != text);
    const auto read = task_from_json(sorted, "sorted");
    REQUIRE(read);
    CHECK(read->reference.stages == task.reference.stages);
    CHECK(task_id(*read) == task_id(task));
  }
}

}  // namespace
}  // namespace cupilot
