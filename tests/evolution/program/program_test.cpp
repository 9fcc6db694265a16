// Programs on the virtual device: right ones are proved, wrong joins are refused with the part
// named.
#include <cupilot/parts/program.hpp>

#include "catch.hpp"
#include "evolution/program/plain_program.hpp"

namespace cupilot::testing {
namespace {

Task chain_task() {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "chain";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}, {"m"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"n", "k"}),
                  tensor("v", Role::in, {"m", "n"}), tensor("y", Role::out, {"rows", "m"})};
  task.operations = {{"product", "linear", {"x", "w"}, {"h"}, {}},
                     {"norm", "layer_norm", {"h"}, {"z"}, {}},
                     {"act", "gelu", {"z"}, {"a"}, {}},
                     {"last", "linear", {"a", "v"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 64}, {"k", 48}, {"n", 40}, {"m", 32}}}};
  REQUIRE_OK(complete(task));
  return task;
}

const Partition fused = {{0}, {1, 2}, {3}}, apart = {{0}, {1}, {2}, {3}};

TEST_CASE("a program of parts is proved and timed as one kernel", "[search][threads]") {
  const Task task = chain_task();
  const auto writer = program_writer(task);
  const Pipe pipe{TaskRef(task), &device(), writer.get(), 1, nullptr};
  for (const Partition& partition : {fused, apart}) {
    const Strategy strategy = as_strategy(plain_program(task, partition));
    const auto candidate = evaluate(pipe, strategy, ProofLevel::candidate);
    REQUIRE_OK(candidate);
    if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
    const auto& accepted = std::get<Accepted>(candidate->outcome);
    CHECK(accepted.measurement.time_us > 0);
    CHECK(candidate->source.plan.launches.size() >= partition.size());
    CHECK(candidate->strategy_id == strategy_id(strategy));
  }
}

TEST_CASE("a wrong join is refused, and the part is named", "[search][threads]") {
  const Task task = chain_task();
  struct Row {
    const char* name;
    void (*spoil)(LaunchPlan& plan);
    const char* part;
  };
  static const auto launch_of = [](const LaunchPlan& plan, std::size_t part) {
    for (std::size_t i = 0; i < plan.launches.size(); ++i) {
      if (plan.launches[i].name.starts_with(part_prefix(part))) return i;
    }
    FAIL("no launch of part " << part);
    return std::size_t{0};
  };
  static const auto rename = [](LaunchPlan& plan, std::size_t part, const std::string& from,
                                const std::string& to) {
    std::size_t renamed = 0;
    for (PlanLaunch& launch : plan.launches) {
      for (PlanArgument& one : launch.args) {
        if (!launch.name.starts_with(part_prefix(part)) || one.name != from) continue;
        one.name = to;
        ++renamed;
      }
    }
    REQUIRE(renamed > 0);
  };
  const Row rows[] = {
      {"nothing is wrong", [](LaunchPlan&) {}, ""},
      {"a launch is lost",
       [](LaunchPlan& plan) {
         plan.launches.erase(plan.launches.begin() +
                             static_cast<std::ptrdiff_t>(launch_of(plan, 2)));
       },
       "part act"},
      {"an edge is read in another's place", [](LaunchPlan& plan) { rename(plan, 2, "z", "h"); },
       "part act"},
      {"two edges share memory while both live",
       [](LaunchPlan& plan) {
         rename(plan, 1, "z", "h");
         rename(plan, 2, "z", "h");
       },
       "part product"},
      {"launches stand in another order",
       [](LaunchPlan& plan) {
         std::swap(plan.launches[launch_of(plan, 1)], plan.launches[launch_of(plan, 2)]);
       },
       "part"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Exposed program = exposed_program(task, apart);
    row.spoil(program.source.plan);
    const auto why = refused(program);
    CHECK(why.has_value() == (*row.part != '\0'));
    if (why) CHECK_THAT(why->message, Catch::StartsWith(row.part));
  }
}

// KernelBench level 2, tasks 15 and 77: running statistics are updated in place.
TEST_CASE("a part that updates a tensor is judged by what the tensor held before", "[threads]") {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "statistics";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"c"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"c", "k"}),
                  tensor("center", Role::in_out, {"c"}), tensor("spread", Role::in_out, {"c"}),
                  tensor("y", Role::out, {"rows", "c"})};
  task.tensors[3].fill = {.kind = FillKind::uniform, .low = 0.5, .high = 1.5};
  task.operations = {{"product", "linear", {"x", "w"}, {"h"}, {}},
                     {"norm",
                      "batch_norm_train",
                      {"h", "", "", "center", "spread"},
                      {"y", "center", "spread"},
                      {}}};
  task.time_shapes = {{{{"rows", 32}, {"k", 16}, {"c", 8}}}};
  REQUIRE_OK(complete(task));
  const auto why = refused(exposed_program(task, {{0}, {1}}));
  INFO((why ? why->message : ""));
  CHECK_FALSE(why);
}

// A sigmoid of large values is 1 in fp32, and rounding chooses the index.
TEST_CASE("a part whose index rounding chooses is no wrong part", "[threads]") {
  Task task;
  task.name = "choice";
  task.axes = {{"rows"}, {"cols", AxisKind::reduced}};
  task.tensors = {{.name = "x", .shape = {"rows", "cols"}},
                  {.name = "w", .shape = {"cols"}},
                  {.name = "y", .role = Role::out, .type = DType::i64, .shape = {"rows"}}};
  task.tensors[1].fill = {.kind = FillKind::uniform, .low = 20, .high = 30};
  task.operations = {{"mask", "relu", {"x"}, {"h"}, {}},
                     {"scale", "mul", {"h", "w"}, {"z"}, {}},
                     {"act", "sigmoid", {"z"}, {"s"}, {}},
                     {"choice", "argmax", {"s"}, {"y"}, {{"dim", std::int64_t{1}}}}};
  task.time_shapes = {{{{"rows", 32}, {"cols", 64}}}};
  REQUIRE_OK(complete(task));
  const auto why = refused(exposed_program(task, {{0}, {1, 2, 3}}));
  INFO((why ? why->message : ""));
  CHECK_FALSE(why);
}

// KernelBench level 2, task 37: two huge elements meet, and the variance of their product's group
// is infinite in fp32. What stays is the norm's bias, from any right kernel.
TEST_CASE("a part whose arithmetic overflows to a finite value is no wrong part", "[threads]") {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "overflow";
  task.axes = {{"rows"}, {"c"}};
  task.tensors = {tensor("x", Role::in, {"rows", 1}), tensor("w", Role::in, {"4*c", 1}),
                  tensor("gain", Role::in, {"4*c"}), tensor("bias", Role::in, {"4*c"}),
                  tensor("y", Role::out, {"rows", "4*c"})};
  task.operations = {
      {"product", "linear", {"x", "w"}, {"h"}, {}},
      {"norm", "group_norm", {"h", "gain", "bias"}, {"y"}, {{"groups", std::int64_t{4}}}}};
  task.time_shapes = {{{{"rows", 8}, {"c", 16}}}};
  REQUIRE_OK(complete(task));
  const Exposed program = exposed_program(task, {{0}, {1}});
  auto proved =
      prove_exposed(device(), program.task, program.parts, program.source, ProofLevel::finalist, 1);
  REQUIRE_OK(proved);
  INFO((*proved ? (*proved)->message : ""));
  CHECK_FALSE(*proved);
}

TEST_CASE("a strategy that is no partition is an error that says why") {
  const Task task = chain_task();
  const auto writer = program_writer(task);
  const auto said = [&](std::vector<std::vector<std::string>> parts) {
    ProgramStrategy program;
    for (auto& on : parts) program.parts.push_back({std::move(on), {}});
    const Strategy strategy = as_strategy(program);
    WriterBrief brief;
    brief.task = TaskRef(task);
    brief.strategy = &strategy;
    const auto written = writer->write(brief);
    REQUIRE_FALSE(written);
    return written.is_error() ? written.error().message : written.rejected().message;
  };
  CHECK_THAT(said({{"product"}, {"norm", "act"}}), Catch::Contains("operation last is in no part"));
  CHECK_THAT(said({{"product"}, {"norm", "act", "product", "last"}}),
             Catch::Contains("product stands in two parts"));
  CHECK_THAT(said({{"product", "nothing"}, {"norm", "act", "last"}}),
             Catch::Contains("no operation nothing"));
  CHECK_THAT(said({{"product", "act"}, {"norm", "last"}}), Catch::Contains("need each other"));
  CHECK_THAT(said({{"product", "norm"}, {"act", "last"}}), Catch::Contains("part product_norm"));
}

}  // namespace
}  // namespace cupilot::testing
