#include "backend/wire/orders.hpp"

#include <cupilot/family.hpp>
#include <cupilot/parts/resolved_plan.hpp>
#include "backend/cuda/library.hpp"
#include "backend/cuda/library_graph.hpp"
#include "backend/cuda/programs.hpp"
#include "backend/cuda/trials.hpp"
#include "backend/worker/probe.hpp"
#include "program/library_part.hpp"

#include "catch.hpp"
#include "support/gemm.hpp"
#include "support/kept_images.hpp"

using namespace cupilot;

namespace {

// Every proper prefix of a good body must be refused, and so must a longer one.
template <class Unpack>
void only_whole(const std::string& body, Unpack unpack) {
  REQUIRE(unpack(body));
  for (std::size_t cut = 0; cut < body.size(); ++cut)
    CHECK(!unpack(std::string_view(body).substr(0, cut)));
  CHECK(!unpack(body + "x"));
}

}  // namespace

TEST_CASE("orders and answers survive the channel and nothing else does") {
  RunOrder run;
  run.image = "image";
  run.maps.push_back({{3, 256, 4096}, 2, 128, {64, 32}, {128}, {64, 8}});
  run.textures.resize(1);
  run.textures[0].sides[1] = 77;
  run.textures[0].normalized = true;
  WireLaunch launch;
  launch.name = "main";
  launch.entry = "gemm";
  launch.grid[1] = 7;
  launch.block[0] = 256;
  launch.cluster[0] = 2;
  launch.shared = 99;
  launch.cooperative = true;
  launch.args = {{WireArgument::Kind::region, {1, 2, 3}, 0, {}, 0, {}},
                 {WireArgument::Kind::map, {}, 0, {}, 0, {}},
                 {WireArgument::Kind::bytes, {}, 0, {1, 2, 3, 4}, 0, {}}};
  run.launches.push_back(launch);
  run.zeroed = {{5, 0, 16}};
  run.poison = {{6, 0, 32}, {7, 8, 9}};
  run.launches[0].step = 0;
  run.steps.resize(1);
  run.steps[0].product.rows = 77;
  run.steps[0].convolution.places[2] = 55;
  run.timing = {VisitTiming::Mode::timed, 4, true};
  only_whole(pack(run), [](std::string_view body) { return unpack_run(body); });
  const auto back = unpack_run(pack(run));
  REQUIRE(back->launches.size() == 1);
  CHECK(back->launches[0].entry == "gemm");
  CHECK(back->launches[0].grid[1] == 7);
  CHECK(back->launches[0].args[2].bytes == std::vector<std::uint8_t>{1, 2, 3, 4});
  CHECK(back->maps[0].dims == std::vector<std::int64_t>{64, 32});
  CHECK((back->textures.at(0).sides[1] == 77 && back->textures[0].normalized));
  CHECK(back->timing.replays == 4);
  CHECK(back->launches[0].step == 0);
  REQUIRE(back->steps.size() == 1);
  CHECK(back->steps[0].product.rows == 77);
  CHECK(back->steps[0].convolution.places[2] == 55);

  DeviceHello hello;
  hello.usable = true;
  hello.name = "NVIDIA H200";
  hello.sharing = Sharing::ipc;
  only_whole(pack(hello), [](std::string_view body) { return unpack_device_hello(body); });
  only_whole(pack(DeviceAnswer{DeviceAnswer::State::sticky, 700, "what", "payload"}),
             [](std::string_view body) { return unpack_device_answer(body); });
  only_whole(pack(LoadOrder{"name", {1, 2}, {"entry"}, {{8, 4}}}),
             [](std::string_view body) { return unpack_load(body); });
  const SeveralOrder several{{{DeviceMessage::check, "a check"}, {DeviceMessage::conditions, ""}}};
  only_whole(pack(several), [](std::string_view body) { return unpack_several(body); });
  const std::vector<DeviceOrder> orders = unpack_several(pack(several))->orders;
  REQUIRE(orders.size() == 2);
  CHECK(orders[0].type == DeviceMessage::check);
  CHECK(orders[0].body == "a check");
  CHECK(orders[1].type == DeviceMessage::conditions);
  only_whole(pack(SeveralAnswer{{"one", "", "three"}}),
             [](std::string_view body) { return unpack_several_answer(body); });
  only_whole(pack(GiveOrder{9, 100, 4, "bytes"}),
             [](std::string_view body) { return unpack_give(body); });
  only_whole(pack(SlotOrder{1, 2, true, {3}}),
             [](std::string_view body) { return unpack_slot(body); });
  PrepareOrder prepare;
  prepare.items.resize(2);
  prepare.oracles.push_back({"key",
                             "image",
                             "entry",
                             {{1, 0, 8}},
                             {1.5},
                             {64},
                             {4096, 16},
                             {-1, 0},
                             {{"stage", -1, 0, 512, 3, 0, 9}, {"stage", 0, 1, 3, 1, 3, 3}},
                             {0},
                             64,
                             64});
  only_whole(pack(prepare), [](std::string_view body) { return unpack_prepare(body); });
  CheckOrder check;
  check.outputs.resize(1);
  check.oracle_keys = {"key"};
  check.guards = {{1, 0, 8}};
  only_whole(pack(check), [](std::string_view body) { return unpack_check(body); });
  only_whole(pack(CheckAnswer{{CheckedOutput{}}, {CheckedGuard{}}, {1}, {2}}),
             [](std::string_view body) { return unpack_check_answer(body); });
  only_whole(pack(RunAnswer{{1.0, 2.0}, 5.0}),
             [](std::string_view body) { return unpack_run_answer(body); });
  only_whole(pack(StepOrder{}, {{1, 0, 8}}),
             [](std::string_view body) { return unpack_library(body); });
  only_whole(pack(ProbeAnswer{7, 1.5, 2.5}),
             [](std::string_view body) { return unpack_probe_answer(body); });
  RepeatOrder repeat;
  repeat.outputs.resize(2);
  repeat.items.resize(1);
  only_whole(pack(repeat), [](std::string_view body) { return unpack_repeat(body); });
  only_whole(pack(RepeatAnswer{{1, 2}}),
             [](std::string_view body) { return unpack_repeat_answer(body); });
  only_whole(pack(ReadOrder{{1, 0, 8}, {}, "key", {3}, {4}}),
             [](std::string_view body) { return unpack_read(body); });
  only_whole(pack(ReadAnswer{{1}, {2.0}, {3.0}}),
             [](std::string_view body) { return unpack_read_answer(body); });
  only_whole(pack(CardConditions{"note", 1, 2, 3, 4, 5, {6}}),
             [](std::string_view body) { return unpack_conditions(body); });
  only_whole(pack(Probe{{true, "a"}, {false, "b"}, {true, "c"}}),
             [](std::string_view body) { return unpack_probe(body); });
}

TEST_CASE("the judge's kernels and a task's references compile") {
  auto pool = CompilePool::open(testing::kept_images());
  REQUIRE(pool);
  const auto trusted = compile_trusted(**pool, "sm_90a");
  if (!trusted) FAIL(trusted.error().message);
  const auto task = gemm_task({});
  REQUIRE(task);
  CudaPrograms programs(**pool, "sm_90a");
  for (const ReferenceBuild build : {ReferenceBuild::plain, ReferenceBuild::tracked}) {
    const auto image = programs.reference(TaskRef(*task), build);
    if (!image) FAIL(image.error().message);
    CHECK((*image)->program.entries.size() == 1);
    CHECK((*image)->image.image.size() > 1000);
  }
  Task broken = *task;
  broken.reference.text =
      "__device__ real reference_D(const Inputs& in, long long index) { return nothing; }";
  const auto refused = programs.reference(TaskRef(broken), ReferenceBuild::tracked);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

// What the runner is told of a task as a step of a library.
std::optional<StepOrder> ordered(const Task& task, const std::vector<Region>& regions) {
  const auto source = library_part(task, builtin_families());
  if (!source) return std::nullopt;
  const auto resolution = resolve(*source, task, task.time_shapes[0], *chip("h200"), nullptr);
  REQUIRE(resolution);
  RunOrder run;
  const ResolvedLaunch& launch = std::get<ResolvedPlan>(*resolution).launches.at(0);
  add_launch(run, launch, CompiledKernel(), {.tensors = regions, .layouts = {}}, {});
  REQUIRE(run.launches.at(0).step == 0);
  return run.steps.at(0);
}
std::optional<LibraryOrder> ordered_step(const Task& task, const std::vector<Region>& regions) {
  const auto order = ordered(task, regions);
  if (!order) return std::nullopt;
  CHECK(order->library == StepOrder::cublaslt);
  return order->product;
}

// A step computes what the baseline of the same task computes.
void check_same(const LibraryOrder& step, const LibraryOrder& baseline) {
  const auto numbers = [](const LibraryOrder& o) {
    std::vector<std::int64_t> all = {o.type_a,   o.type_b,   o.type_c,   o.type_d, o.compute,
                                     o.trans_a,  o.trans_b,  o.epilogue, o.rows,   o.columns,
                                     o.depth,    o.batch,    o.ld_a,     o.ld_b,   o.ld_d,
                                     o.stride_a, o.stride_b, o.stride_d, o.scale};
    for (const Region& region : {o.a, o.b, o.c, o.d, o.bias}) all.push_back(region.slot);
    return all;
  };
  CHECK(numbers(step) == numbers(baseline));
  CHECK(step.alpha == baseline.alpha);
  CHECK(step.beta == baseline.beta);
}

TEST_CASE("the library's product is the row-major one with its operands swapped") {
  GemmSpec spec;
  spec.m = 10, spec.n = 20, spec.k = 30, spec.layout = "tn", spec.batch = 2, spec.alpha = 2,
  spec.beta = 3, spec.bias = true;
  const auto task = gemm_task(spec);
  REQUIRE(task);
  std::vector<Region> regions;
  for (int i = 0; i < static_cast<int>(task->tensors.size()); ++i) regions.push_back({i, 0, 8});
  const auto calls = library_calls_of(builtin_families());
  const auto order =
      library_order(find_library_call(calls, *task), *task, task->time_shapes[0], regions);
  REQUIRE(order);
  CHECK(order->rows == 20);
  CHECK(order->columns == 10);
  CHECK(order->depth == 30);
  CHECK(order->batch == 2);
  CHECK(!order->trans_a);  // B as stored
  CHECK(order->trans_b);   // A transposed
  CHECK(order->ld_a == 20);
  CHECK(order->ld_b == 10);
  CHECK(order->stride_b == 300);
  CHECK(order->a.slot == 1);
  CHECK(order->b.slot == 0);
  CHECK(order->bias.slot == 3);
  CHECK(order->alpha == 2);
  CHECK(order->beta == 3);
  CHECK_FALSE(ordered_step(*task, regions).has_value());  // it adds a matrix
  spec.beta = 0;
  const auto plain = gemm_task(spec);
  REQUIRE(plain);
  std::vector<Region> places;
  for (int i = 0; i < static_cast<int>(plain->tensors.size()); ++i) places.push_back({i, 0, 8});
  const auto baseline =
      library_order(find_library_call(calls, *plain), *plain, plain->time_shapes[0], places);
  REQUIRE(baseline);
  const auto step = ordered_step(*plain, places);
  REQUIRE(step);
  check_same(*step, *baseline);
  spec.act = Activation::gelu;
  const auto other = gemm_task(spec);
  REQUIRE(other);
  CHECK(library_order(find_library_call(calls, *other), *other, other->time_shapes[0], regions)
            .is_rejected());
}

TEST_CASE("a graph that is a product with an epilogue has the library's call") {
  using Attributes = std::map<std::string, Attribute>;
  const Attributes by_tanh = {{"approximate", Attribute(std::string("tanh"))}};
  struct Row {
    const char* name;
    std::vector<Operation> operations;  // between x, w, b and y
    int epilogue;                       // -1: refused
    bool bias;
    const char* says;
  };
  const std::vector<Row> rows = {
      {"a product", {{"p", "linear", {"x", "w"}, {"y"}, {}}}, LibraryOrder::plain, false, ""},
      {"with a bias", {{"p", "linear", {"x", "w", "b"}, {"y"}, {}}}, LibraryOrder::plain, true, ""},
      {"with relu",
       {{"p", "linear", {"x", "w"}, {"h"}, {}}, {"act", "relu", {"h"}, {"y"}, {}}},
       LibraryOrder::relu,
       false,
       ""},
      {"with a bias added and gelu by tanh",
       {{"p", "linear", {"x", "w"}, {"h"}, {}},
        {"plus", "add", {"b", "h"}, {"s"}, {}},
        {"act", "gelu", {"s"}, {"y"}, by_tanh}},
       LibraryOrder::gelu,
       true,
       ""},
      {"gelu by erf",
       {{"p", "linear", {"x", "w"}, {"h"}, {}}, {"act", "gelu", {"h"}, {"y"}, {}}},
       -1,
       false,
       "no epilogue equal to operation act (gelu)"},
      {"a bias behind the activation",
       {{"p", "linear", {"x", "w"}, {"h"}, {}},
        {"act", "relu", {"h"}, {"r"}, {}},
        {"plus", "add", {"r", "b"}, {"y"}, {}}},
       -1,
       false,
       "no epilogue equal to operation plus (add)"},
      {"two biases",
       {{"p", "linear", {"x", "w", "b"}, {"h"}, {}}, {"plus", "add", {"h", "b"}, {"y"}, {}}},
       -1,
       false,
       "no epilogue equal to operation plus (add)"},
      {"the product with itself",
       {{"p", "linear", {"x", "w"}, {"h"}, {}}, {"plus", "add", {"h", "h"}, {"y"}, {}}},
       -1,
       false,
       "no epilogue equal to operation plus (add)"},
      {"something else first",
       {{"act", "relu", {"x"}, {"r"}, {}}, {"p", "linear", {"r", "w"}, {"y"}, {}}},
       -1,
       false,
       "no call for a graph that begins with relu"},
  };
  const auto calls = library_calls_of(builtin_families());
  for (const Row& row : rows) {
    INFO(row.name);
    Task task;
    task.name = task.family = "graph";
    task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}};
    const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
      return Tensor{.name = name, .role = role, .shape = std::move(shape)};
    };
    task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"n", "k"}),
                    tensor("b", Role::in, {"n"}), tensor("y", Role::out, {"rows", "n"})};
    task.operations = row.operations;
    task.time_shapes = {{{{"rows", 10}, {"k", 30}, {"n", 20}}}};
    REQUIRE(complete(task));
    const std::vector<Region> regions = {{0, 0, 8}, {1, 0, 8}, {2, 0, 8}, {3, 0, 8}};
    const auto order = graph_library_order(calls, task, task.time_shapes[0], regions);
    REQUIRE_FALSE(order.is_error());
    REQUIRE(order.is_rejected() == (row.epilogue < 0));
    const auto step = ordered_step(task, regions);
    REQUIRE(step.has_value() == (row.epilogue >= 0));
    if (step) check_same(*step, *order);
    if (order.is_rejected()) {
      CHECK_THAT(order.rejected().message, Catch::Contains(row.says));
      continue;
    }
    CHECK(order->epilogue == row.epilogue);
    CHECK(order->bias.slot == (row.bias ? 2 : -1));
    CHECK(order->a.slot == 1);  // w as stored, transposed
    CHECK(order->trans_a);
    CHECK(order->b.slot == 0);
    CHECK(order->d.slot == 3);
    CHECK(order->rows == 20);
    CHECK(order->columns == 10);
    CHECK(order->depth == 30);
    CHECK(order->compute == LibraryOrder::full);
  }
}

TEST_CASE("a convolution's baseline is its step, by cuDNN") {
  using Attributes = std::map<std::string, Attribute>;
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = task.family = "graph";
  task.axes = {{"n"}, {"h"}, {"w"}};
  task.tensors = {tensor("x", Role::in, {"n", 6, "h", "w"}), tensor("v", Role::in, {8, 3, 3, 5}),
                  tensor("b", Role::in, {8}),
                  tensor("y", Role::out, {"n", 8, "(h - 1) / 2 + 1", "w - 4"})};
  const Attributes attributes = {{"stride", Attribute(std::vector<std::int64_t>{2, 1})},
                                 {"padding", Attribute(std::vector<std::int64_t>{1, 2})},
                                 {"dilation", Attribute(std::vector<std::int64_t>{1, 2})},
                                 {"groups", Attribute(std::int64_t{2})}};
  task.operations = {{"conv", "conv2d", {"x", "v", "b"}, {"y"}, attributes}};
  task.time_shapes = {{{{"n", 2}, {"h", 9}, {"w", 12}}}};
  REQUIRE(complete(task));
  CHECK(library_name(task) == "cudnn");
  const std::vector<Region> regions = {{0, 0, 8}, {1, 0, 8}, {2, 0, 8}, {3, 0, 8}};
  const auto calls = library_calls_of(builtin_families());
  const auto order = baseline_order(calls, task, task.time_shapes[0], *chip("h200"),
                                    {.tensors = regions, .layouts = {}});
  REQUIRE(order);
  const auto step = ordered(task, regions);
  REQUIRE(step);
  for (const StepOrder* one : {&*order, &*step}) {
    CHECK(one->library == StepOrder::cudnn);
    const ConvolutionOrder& c = one->convolution;
    CHECK((c.batch == 2 && c.channels == 6 && c.outputs == 8 && c.groups == 2));
    CHECK(std::vector(c.size, c.size + 3) == std::vector<std::int64_t>{1, 9, 12});
    CHECK(std::vector(c.window, c.window + 3) == std::vector<std::int64_t>{1, 3, 5});
    CHECK(std::vector(c.places, c.places + 3) == std::vector<std::int64_t>{1, 5, 8});
    CHECK(std::vector(c.stride, c.stride + 3) == std::vector<std::int64_t>{1, 2, 1});
    CHECK(std::vector(c.padding, c.padding + 3) == std::vector<std::int64_t>{0, 1, 2});
    CHECK(std::vector(c.dilation, c.dilation + 3) == std::vector<std::int64_t>{1, 1, 2});
    CHECK((c.x.slot == 0 && c.weight.slot == 1 && c.bias.slot == 2 && c.y.slot == 3));
    CHECK((!c.transposed && c.compute == LibraryOrder::full));
    CHECK(c.type == static_cast<int>(DType::f32));
  }
  task.precision = Precision::tf32;
  CHECK(ordered(task, regions)->convolution.compute == LibraryOrder::tf32);
}
