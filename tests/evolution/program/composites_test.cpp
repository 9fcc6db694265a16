// Composites as programs of their bodies, on the virtual device.
#include "program/composites.hpp"

#include <cmath>
#include <span>

#include <cupilot/parts/program.hpp>

#include "backend/oracle/inputs.hpp"
#include "evolution/program/plain_program.hpp"
#include "support/graph.hpp"

namespace cupilot::testing {
namespace {

using support::graph_task;
using support::input;
using support::output;

struct Shape {
  std::map<std::string, Attribute> attributes{};
  std::int64_t e = 6;
  DType mask = DType::f64;  // f64: none
  Precision precision = Precision::fp32_strict;
};

Task attention_task(const Shape& shape) {
  std::vector<Tensor> tensors = {input("q", {"b", "h", "m", "d"}), input("K", {"b", "h", "n", "d"}),
                                 input("V", {"b", "h", "n", "e"}),
                                 output("y", {"b", "h", "m", "e"})};
  std::vector<std::string> inputs = {"q", "K", "V"};
  if (shape.mask != DType::f64) {
    tensors.push_back(input("mask", {"m", "n"}, shape.mask));
    if (shape.mask == DType::boolean) tensors.back().fill.kind = FillKind::boolean;
    inputs.push_back("mask");
  }
  auto task = graph_task(std::move(tensors), {{"a", "attention", inputs, {"y"}, shape.attributes}},
                         {{"b", 2}, {"h", 2}, {"m", 9}, {"n", 12}, {"d", 10}, {"e", shape.e}},
                         shape.precision);
  REQUIRE_OK(task);
  return *task;
}

const Attribute yes = std::int64_t{1};

TEST_CASE("the body of attention gives what its stages give", "[threads]") {
  const Shape shapes[] = {{},
                          {.attributes = {{"causal", yes}}},
                          {.attributes = {{"scale", 0.5}}},
                          {.mask = DType::f32},
                          {.attributes = {{"boolean_mask", yes}}, .mask = DType::boolean},
                          {.attributes = {{"causal", yes}, {"scale", 2.0}}, .mask = DType::f32}};
  for (const Shape& shape : shapes) {
    const Task task = attention_task(shape);
    const ComposedTask program = compose_bodies(task, builtin_families());
    REQUIRE(program.has_body());
    const TaskRef given(task), made(program.task);
    VirtualInputs contents(std::int64_t{1} << 24);
    std::vector<std::vector<std::byte>> inputs(task.tensors.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (task.tensors[i].role == Role::out) continue;
      const auto bytes = contents.get(given, i, task.time_shapes[0], {.seed = 7});
      REQUIRE_OK(bytes);
      inputs[i] = **bytes;
    }
    const auto want = device().inspector().reference(given, task.time_shapes[0], inputs);
    const auto got = device().inspector().reference(made, task.time_shapes[0], inputs);
    REQUIRE_OK(want);
    REQUIRE_OK(got);
    REQUIRE(got->size() == 1);
    REQUIRE(got->front().values.size() == want->front().values.size());
    for (std::size_t i = 0; i < want->front().values.size(); ++i) {
      const double a = want->front().values[i], b = got->front().values[i];
      const bool same =
          std::isnan(a) ? std::isnan(b) : std::abs(a - b) <= 1e-14 * (1 + std::abs(a));
      if (!same) FAIL("element " << i << ": " << b << " instead of " << a);
    }
  }
}

TEST_CASE("scores of one query that is a vector are those of row 0", "[threads]") {
  const auto task = graph_task({input("q", {"d"}), input("K", {"n", "d"}), output("y", {"n"})},
                               {{"s", "attention_scores", {"q", "K"}, {"y"}, {{"causal", yes}}}},
                               {{"n", 3}, {"d", 4}});
  REQUIRE_OK(task);
  const std::vector<float> query = {1, 2, 3, 4}, keys(12, 0.5f);
  const auto bytes = [](const std::vector<float>& values) {
    const auto all = std::as_bytes(std::span(values));
    return std::vector<std::byte>(all.begin(), all.end());
  };
  const std::vector<std::vector<std::byte>> inputs = {bytes(query), bytes(keys), {}};
  const auto values = device().inspector().reference(TaskRef(*task), task->time_shapes[0], inputs);
  REQUIRE_OK(values);
  CHECK(values->front().values == std::vector<double>{2.5, -INFINITY, -INFINITY});
}

TEST_CASE("a program of a composite's body is proved as the composite", "[search][threads]") {
  const Task task = attention_task({.attributes = {{"causal", yes}},
                                    .e = 257,
                                    .mask = DType::f32,
                                    .precision = Precision::fp32_emulated});
  const ComposedTask body = compose_bodies(task, builtin_families());
  const Strategy strategy = as_strategy(plain_program(body.task, {{0}, {1}, {2}}));
  const auto writer = program_writer(task);
  const Pipe pipe{TaskRef(task), &device(), writer.get(), 1, nullptr};
  const auto candidate = evaluate(pipe, strategy, ProofLevel::candidate);
  REQUIRE_OK(candidate);
  if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
  CHECK(candidate->source.plan.launches.size() >= 3);
}

TEST_CASE("a composite's name stands for its body in a strategy", "[threads]") {
  const Task task = attention_task({.e = 257, .precision = Precision::fp32_emulated});
  ProgramWriter writer(task, {});
  ProgramStrategy program = plain_program(task, {{0}});
  REQUIRE(program.parts.size() == 1);
  const auto parts = writer.write_parts(as_strategy(program), &device().device());
  if (!parts) FAIL("no part is written");
  REQUIRE(parts->size() == 1);
  CHECK(parts->front().form.task.family == task.family);
  program.parts.push_back(program.parts.front());
  program.parts.back().on = {"a_scores"};
  const auto twice = writer.write_parts(as_strategy(program), &device().device());
  REQUIRE(twice.is_error());
  CHECK_THAT(twice.error().message, Catch::Contains("stands in two parts"));
}

Result<EvolveReport> evolved(const Task& task, const std::string& run_dir,
                             std::int64_t evaluations) {
  EvolveOptions options;
  options.search.max_evaluations = evaluations;
  options.run_dir = run_dir;
  options.pool = "off";
  options.device_name = "virtual:h200";
  return evolve(task, device(), options);
}

TEST_CASE("attention that no template serves is evolved as its body", "[search][threads]") {
  const Task task = attention_task({.attributes = {{"scale", 0.5}}});
  const TempDir dir;
  const auto report = evolved(task, dir / "run", 8);
  REQUIRE_OK(report);
  REQUIRE(report->best);
  const auto parts = parts_of(report->best->candidate.strategy).parts;
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].on == std::vector<std::string>{"a_weights"});
  const auto again = resume(dir / "run", device(), {});
  REQUIRE_OK(again);
  CHECK(again->best->candidate.kernel_id == report->best->candidate.kernel_id);
}

TEST_CASE("attention of wide values is searched whole and as its body", "[search][long][threads]") {
  const Task task = attention_task({.e = 260, .precision = Precision::fp32_emulated});
  const TempDir dir;
  const auto report = evolved(task, dir / "run", 16);
  REQUIRE_OK(report);
  REQUIRE(report->best);
  const auto summary = read_run(dir / "run");
  REQUIRE_OK(summary);
  const auto& notices = summary->report.notices;
  CHECK(std::any_of(notices.begin(), notices.end(), [](const std::string& notice) {
    return notice.starts_with("program: 2 partitions are legal");
  }));
}

}  // namespace
}  // namespace cupilot::testing
