// Steps of libraries in launch plans: read, written, resolved; refused where their arguments are
// those of no step.
#include "kernel/library_step.hpp"

#include <functional>

#include "catch.hpp"
#include "kernel/support.hpp"

using namespace cupilot;
using namespace cupilot::test;

namespace {

KernelSource step_source() {
  const auto narrow = [](int value) {
    return PlanArgument{.kind = PlanArgument::Kind::i32, .value = value};
  };
  const auto wide = [](const char* value) {
    return PlanArgument{.kind = PlanArgument::Kind::i64, .value = Expr(value)};
  };
  KernelSource source;
  PlanLaunch launch{.name = "product", .entry = "library_product"};
  launch.library = "cublaslt";
  launch.args = {{.name = "a"},
                 {.name = "b"},
                 {.name = "d"},
                 {.name = "no_bias?"},
                 {.kind = PlanArgument::Kind::f32, .number = 2},
                 wide("10"),
                 wide("20"),
                 wide("30"),
                 wide("1"),
                 narrow(0),
                 narrow(1),
                 narrow(1),
                 narrow(static_cast<int>(DType::f32)),
                 narrow(static_cast<int>(DType::bf16)),
                 narrow(static_cast<int>(DType::f16)),
                 narrow(0)};
  source.plan.launches = {std::move(launch)};
  return source;
}

// x 2 x 6 x 9 x 12 and a weight 8 x 3 x 3 x 5: y 2 x 8 x 5 x 8.
KernelSource convolution_source() {
  KernelSource source;
  PlanLaunch launch{.name = "convolution", .entry = "library_convolution"};
  launch.library = "cudnn";
  launch.args = {{.name = "a"}, {.name = "b"}, {.name = "d"}, {.name = "no_bias?"}};
  for (const std::int64_t value :
       {2, 6, 8, 2, 1, 9, 12, 1, 3, 5, 1, 5, 8, 1, 2, 1, 1, 1, 2, 0, 1, 2})
    launch.args.push_back({.kind = PlanArgument::Kind::i64, .value = value});
  for (const int value : {0, static_cast<int>(DType::f32), 1})
    launch.args.push_back({.kind = PlanArgument::Kind::i32, .value = value});
  source.plan.launches = {std::move(launch)};
  return source;
}

Attempt<Resolution> resolved(const KernelSource& source) {
  const Task task = plain_task({{"a", Role::in}, {"b", Role::in}, {"d", Role::out}});
  return resolve(source, task, Workload{}, *chip("h200"), nullptr);
}

}  // namespace

TEST_CASE("a library's step survives JSON and resolving", "[kernel]") {
  const KernelSource source = step_source();
  const auto back = launch_plan_from_json(launch_plan_to_json(source.plan));
  REQUIRE(back);
  CHECK(back->launches[0].library == "cublaslt");
  CHECK(has_library_step(*back));
  CHECK_FALSE(has_library_step(LaunchPlan{}));
  const auto resolution = resolved(source);
  REQUIRE(resolution);
  const auto any = library_step(std::get<ResolvedPlan>(*resolution).launches[0]);
  REQUIRE(any);
  const auto* step = std::get_if<ProductStep>(&*any);
  REQUIRE(step != nullptr);
  CHECK(step->d.index == 2);
  CHECK(step->bias.kind == ResolvedArgument::Kind::null_pointer);
  CHECK(step->alpha == 2);
  CHECK(step->m == 10);
  CHECK(step->n == 20);
  CHECK(step->k == 30);
  CHECK_FALSE(step->trans_a);
  CHECK(step->trans_b);
  CHECK(step->epilogue == StepEpilogue::relu);
  CHECK(step->type_b == DType::bf16);
  CHECK(step->type_d == DType::f16);
  CHECK(step->compute == StepCompute::full);
}

TEST_CASE("a library's step that is no product's is refused", "[kernel]") {
  struct Row {
    const char* name;
    std::function<void(PlanLaunch&)> spoil;
  };
  const auto set = [](std::size_t at, int value) {
    return [=](PlanLaunch& launch) { launch.args[at].value = value; };
  };
  const Row rows[] = {
      {"another library", [](PlanLaunch& launch) { launch.library = "mine"; }},
      {"an argument less", [](PlanLaunch& launch) { launch.args.pop_back(); }},
      {"an argument more", [](PlanLaunch& launch) { launch.args.push_back({.name = "a"}); }},
      {"no output", [](PlanLaunch& launch) { launch.args[2].name = "nothing?"; }},
      {"no rows", set(5, 0)},
      {"another epilogue", set(11, 3)},
      {"half a turn", set(9, 2)},
      {"a type that it does not take", set(12, static_cast<int>(DType::f64))},
      {"another class", set(15, 2)},
  };
  REQUIRE(resolved(step_source()));
  for (const Row& row : rows) {
    INFO(row.name);
    KernelSource source = step_source();
    row.spoil(source.plan.launches[0]);
    const auto resolution = resolved(source);
    REQUIRE(resolution.is_rejected());
    CHECK(resolution.rejected().code == "plan.limit");
  }
  std::string text = launch_plan_to_json(step_source().plan);
  text.replace(text.find("\"cublaslt\""), 10, "\"mine\"");
  const auto read = launch_plan_from_json(text);
  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().message, Catch::Contains("there is no such library"));
}

TEST_CASE("a convolution of a library survives JSON and resolving", "[kernel]") {
  const auto back = launch_plan_from_json(launch_plan_to_json(convolution_source().plan));
  REQUIRE(back);
  CHECK(back->launches[0].library == "cudnn");
  CHECK(has_step_of(*back, "cudnn"));
  CHECK_FALSE(has_step_of(*back, "cublaslt"));
  const auto resolution = resolved(convolution_source());
  REQUIRE(resolution);
  const auto any = library_step(std::get<ResolvedPlan>(*resolution).launches[0]);
  REQUIRE(any);
  const auto* step = std::get_if<ConvolutionStep>(&*any);
  REQUIRE(step != nullptr);
  CHECK((step->batch == 2 && step->channels == 6 && step->outputs == 8 && step->groups == 2));
  using Extents = ConvolutionStep::Extents;
  CHECK(step->size == Extents{1, 9, 12});
  CHECK(step->window == Extents{1, 3, 5});
  CHECK(step->places == Extents{1, 5, 8});
  CHECK(step->stride == Extents{1, 2, 1});
  CHECK(step->dilation == Extents{1, 1, 2});
  CHECK(step->padding == Extents{0, 1, 2});
  CHECK(step->bias.kind == ResolvedArgument::Kind::null_pointer);
  CHECK_FALSE(step->transposed);
  CHECK(step->compute == StepCompute::tf32);
}

TEST_CASE("a library's step that is no convolution's is refused", "[kernel]") {
  struct Row {
    const char* name;
    std::function<void(PlanLaunch&)> spoil;
  };
  const auto set = [](std::size_t at, std::int64_t value) {
    return [=](PlanLaunch& launch) { launch.args[at].value = value; };
  };
  const Row rows[] = {
      {"of the other library", [](PlanLaunch& launch) { launch.library = "cublaslt"; }},
      {"an argument less", [](PlanLaunch& launch) { launch.args.pop_back(); }},
      {"no output", [](PlanLaunch& launch) { launch.args[2].name = "nothing?"; }},
      {"no batch", set(4, 0)},
      {"groups that do not divide the channels", set(7, 4)},
      {"a place too many", set(16, 9)},
      {"a window larger than its input", set(12, 30)},
      {"no stride", set(18, 0)},
      {"a negative padding", set(24, -1)},
      {"more than an int", set(24, std::int64_t{1} << 31)},
      {"transposed, of other places", set(26, 1)},
      {"a type that it does not take", set(27, static_cast<int>(DType::f64))},
      {"another class", set(28, 2)},
  };
  REQUIRE(resolved(convolution_source()));
  for (const Row& row : rows) {
    INFO(row.name);
    KernelSource source = convolution_source();
    row.spoil(source.plan.launches[0]);
    const auto resolution = resolved(source);
    REQUIRE(resolution.is_rejected());
    CHECK(resolution.rejected().code == "plan.limit");
  }
}
