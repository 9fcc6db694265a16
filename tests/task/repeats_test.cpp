// Loops of a graph: what their reference gives, against plain loops, and what is refused.
#include "task/repeats.hpp"

#include <cupilot/rng.hpp>

#include "catch.hpp"
#include "task/recurrent.hpp"
#include "task/reference/staged_values.hpp"

namespace cupilot {
namespace {

using testing::completed;
using testing::layer_by_loops;
using testing::layer_task;
using testing::LayerGraph;
using testing::LayerShape;
using testing::LayerSizes;
using testing::Values;

std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Content of all inputs, drawn.
Values drawn_inputs(const Task& task, std::uint64_t seed) {
  Values values;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role == Role::out) continue;
    Rng rng = Rng::of(seed, tensor.name);
    auto& mine = values[tensor.name];
    mine.resize(std::size_t(shape_of(task, tensor, task.time_shapes[0])->elements));
    for (float& value : mine) value = float(rng.below(2001) - 1000) / 1500.0f;
  }
  return values;
}

// One output as the tracked reference gives it.
std::vector<double> reference_of(const Task& task, const Values& values, const std::string& name) {
  const ReferenceProgram program = *reference_program(task, ReferenceBuild::tracked);
  std::vector<std::vector<std::uint8_t>> inputs;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role != Role::out) inputs.push_back(testing::bytes_of(values.at(tensor.name)));
  }
  testing::StagedRun run(task, program, support::module_of_cuda(program.text), inputs);
  const auto shape = shape_of(task, *find_tensor(task, name), task.time_shapes[0]);
  return run.values(name, shape->elements, true).values;
}

void compare(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    CHECK(got[i] == Approx(want[i]).epsilon(1e-12).margin(1e-14));
  }
}

TEST_CASE("a recurrent layer gives what plain loops give", "[repeats]") {
  const auto shape = GENERATE(values<LayerShape>(
      {{.sizes = {.steps = 3, .batch = 2, .inputs = 4, .hidden = 5}},
       {.sizes = {.steps = 1, .batch = 1, .inputs = 3, .hidden = 2}},
       {.sizes = {.steps = 4, .batch = 3, .inputs = 2, .hidden = 7}, .projects_before = false},
       {.sizes = {.steps = 4, .batch = 2, .inputs = 3, .hidden = 3}, .backwards = true},
       {.sizes = {.steps = 5, .batch = 2, .inputs = 3, .hidden = 6}, .gru = true},
       {.sizes = {.steps = 3, .batch = 1, .inputs = 2, .hidden = 1},
        .gru = true,
        .backwards = true,
        .projects_before = false}}));
  const auto task = completed(layer_task(shape));
  if (!task) FAIL(task.error().message);
  const Values values = drawn_inputs(*task, 7);
  const auto y = layer_by_loops(shape, "", wide(values.at("x")), values);
  compare(reference_of(*task, values, "y"), y);
  // The last step's place.
  const auto one = std::ptrdiff_t(shape.sizes.batch * shape.sizes.hidden);
  const auto last = shape.backwards ? y.begin() : y.end() - one;
  compare(reference_of(*task, values, "hn"), std::vector<double>(last, last + one));
}

TEST_CASE("layers stand one on the other, in both directions", "[repeats]") {
  const LayerSizes first{.steps = 3, .batch = 2, .inputs = 3, .hidden = 4};
  const LayerSizes second{.steps = 3, .batch = 2, .inputs = 4, .hidden = 3};
  Task task;
  task.tensors.push_back(testing::layer_input("x", {3, 2, 3}));
  LayerGraph(task, {.sizes = first}, "a").add("x", false);
  LayerGraph(task, {.sizes = second, .gru = true, .backwards = true}, "b").add("ay", true);
  const auto made = completed(std::move(task));
  if (!made) FAIL(made.error().message);
  const Values values = drawn_inputs(*made, 3);
  const auto below = layer_by_loops({.sizes = first}, "a", wide(values.at("x")), values);
  const auto above =
      layer_by_loops({.sizes = second, .gru = true, .backwards = true}, "b", below, values);
  compare(reference_of(*made, values, "by"), above);
}

TEST_CASE("a loop is read, written and identified as its file says it", "[repeats]") {
  const auto task = completed(layer_task({}));
  REQUIRE(task);
  const std::string text = *task_to_json(*task);
  const auto read = task_from_json(text, "written");
  if (!read) FAIL(read.error().message);
  CHECK(*task_to_json(*read) == text);
  CHECK(task_id(*read) == task_id(*task));
  Task other = *task;
  other.repeats[0].carried[0].from = "c0";
  CHECK(task_id(other) != task_id(*task));
  // Its size is that of one step.
  const auto longer = completed(layer_task({.sizes = {.steps = 300}}));
  REQUIRE(longer);
  CHECK(longer->reference.stages.size() == task->reference.stages.size());
  CHECK(*textbook_flops(*longer, longer->time_shapes[0]) ==
        100 * *textbook_flops(*task, task->time_shapes[0]));
}

// A scan: y[t] = decay * s + x[t].
struct Scan {
  std::string count = "steps", from = "s0", next = "y[t]", last, read = "x[t]", write = "y[t]";
  std::string carried = "s", step = "t", used = "s", after = "y", end = "z";
  std::string extra;  // a further operation of the body
};

std::string text_of(const Scan& scan, const std::vector<std::string>& s0) {
  std::string shape;
  for (const std::string& extent : s0) shape += (shape.empty() ? "\"" : ", \"") + extent + "\"";
  return R"({"cupilot_task": 2, "name": "scan",
  "axes": [{"name": "steps", "kind": "free"}, {"name": "n", "kind": "free"}],
  "tensors": [{"name": "x", "role": "in", "type": "fp32", "shape": ["steps", "n"]},
    {"name": "s0", "role": "in", "type": "fp32", "shape": [)" +
         shape + R"(]}, {"name": "z", "role": "out", "type": "fp32", "shape": ["steps", "n"]}],
  "operations": [{"name": "loop", "repeat": {"count": ")" +
         scan.count + R"(", "step": ")" + scan.step + R"(", "carried": [{"name": ")" +
         scan.carried + R"(", "from": ")" + scan.from + R"(", "next": ")" + scan.next +
         R"(", "last": ")" + scan.last + R"("}], "body": [
      {"name": "decay", "op": "mul", "in": [")" +
         scan.used + R"("], "out": ["d"], "attrs": {"other": 0.5}}, )" + scan.extra + R"(
      {"name": "step", "op": "add", "in": ["d", ")" +
         scan.read + R"("], "out": [")" + scan.write + R"("]}]}},
    {"name": "act", "op": "relu", "in": [")" +
         scan.after + R"("], "out": [")" + scan.end + R"("]}],
  "precision": "fp32-strict", "time_shapes": [{"sizes": {"steps": 4, "n": 3}}]})";
}

TEST_CASE("a loop over an axis runs as often as the axis is long", "[repeats]") {
  const auto task = task_from_json(text_of({}, {"n"}), "scan");
  if (!task) FAIL(task.error().message);
  const Values values = drawn_inputs(*task, 1);
  std::vector<double> want, state = wide(values.at("s0"));
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t i = 0; i < 3; ++i) {
      state[i] = 0.5 * state[i] + double(values.at("x")[t * 3 + i]);
      want.push_back(std::max(0.0, state[i]));
    }
  }
  compare(reference_of(*task, values, "z"), want);
}

TEST_CASE("a loop that cannot be is refused with what is wrong", "[repeats]") {
  struct Row {
    Scan scan;
    const char* message;
  };
  const auto row = GENERATE(values<Row>({
      {{.count = "0"}, "repeat 'loop': count is 0"},
      {{.count = "n - 4"}, "count is -1"},
      {{.count = "steps * 5000"}, "count is 20000, above 16384"},
      {{.count = "many"}, "count: "},
      {{.step = "n"}, "the step's name 'n' is a name of the task"},
      {{.step = "2t"}, "the step's name '2t' is none"},
      {{.carried = "x"}, "the carried name 'x' is taken"},
      {{.carried = "d"}, "the carried name 'd' is taken"},
      {{.from = "nothing"}, "begins as 'nothing', which is no tensor"},
      // A mean over the step's place is one number.
      {{.next = "m", .extra = R"({"name": "mean", "op": "mean", "in": ["d"], "out": ["m"]},)"},
       "'s' changes its shape: 3 at first, 1 after a step"},
      {{.next = "other"}, "'s' is to get 'other', which the body does not make"},
      {{.last = "z"}, "'z' is written twice"},
      {{.last = "d"}, "`last` of 's' is 'd', which is taken"},
      {{.read = "x[t + 1]"}, "'x[t+1]' is place 4 at step 3, but 'x' has 4"},
      {{.read = "x[t - 1]"}, "is place -1 at step 0"},
      {{.read = "x[u]"}, "unknown name 'u'"},
      {{.read = "x[t +]"}, "index 't+'"},
      {{.read = "x[2 / t]"}, "division by 0"},
      {{.read = "w[t]"}, "'w' is no tensor and no output of an earlier operation"},
      {{.read = "y[t - 1]"}, "'y[t - 1]' is no value that this step has made before"},
      {{.write = "y[t / 2]"}, "'y[t/2]' is written in no order that is known"},
      {{.write = "s[t]"}, "the carried name 's' is taken"},
      {{.after = "d"}, "'d' lives in a step of a repeat"},
      {{.used = "u"}, "'u' is no tensor"},
      {{.extra = R"({"name": "again", "op": "relu", "in": ["d"], "out": ["d"]},)"},
       "'d' is written twice"},
      {{.extra = R"({"name": "loop", "op": "relu", "in": ["d"], "out": ["e"]},)"},
       "another operation has this name"},
      {{.extra = R"({"name": "in", "repeat": {"count": 2, "carried": [], "body": []}},)"},
       "body[1]: is a repeat within a repeat"},
  }));
  const std::vector<std::string> s0 = {"n"};
  const auto task = task_from_json(text_of(row.scan, s0), "scan");
  REQUIRE_FALSE(task);
  CHECK(task.error().code == ErrorCode::usage);
  CHECK_THAT(task.error().message, Catch::Contains(row.message));
  CHECK_FALSE(task.error().hint.empty());
}

TEST_CASE("a body lies in one piece and belongs to a repeat", "[repeats]") {
  Task task = layer_task({});
  task.operations[4].repeat.clear();
  auto made = completed(task);
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Catch::Contains("lies apart from its body"));
  task.operations[4].repeat = "other";
  made = completed(task);
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Catch::Contains("is in no repeat of this name"));
  task = layer_task({});
  task.repeats.push_back({.name = "idle"});
  made = completed(task);
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Catch::Contains("its body is empty"));
}

TEST_CASE("what a body carries and never reads is told", "[repeats]") {
  const auto task = task_from_json(text_of({.used = "s0"}, {"n"}), "scan");
  if (!task) FAIL(task.error().message);
  CHECK_FALSE(is_read(*task, task->repeats[0], task->repeats[0].carried[0]));
  const auto read = task_from_json(text_of({}, {"n"}), "scan");
  REQUIRE(read);
  CHECK(is_read(*read, read->repeats[0], read->repeats[0].carried[0]));
}

}  // namespace
}  // namespace cupilot
