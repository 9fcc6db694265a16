// Parts that a library computes: written, proved where no library is by the kernel that stands in,
// chosen where a device has it.
#include <chrono>
#include <thread>

#include <cupilot/parts/program.hpp>

#include "catch.hpp"
#include "evolution/journal/program_record.hpp"
#include "evolution/program/plain_program.hpp"
#include "evolution/run/kernel_run.hpp"
#include "kernel/library_step.hpp"
#include "program/library_part.hpp"
#include "support/graph.hpp"

namespace cupilot::testing {
namespace {

// A product with a bias and gelu by tanh, then a norm, then a product.
Task chain_task() {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "chain";
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}, {"m"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"n", "k"}),
                  tensor("b", Role::in, {"n"}), tensor("v", Role::in, {"m", "n"}),
                  tensor("y", Role::out, {"rows", "m"})};
  task.operations = {
      {"product", "linear", {"x", "w", "b"}, {"h"}, {}},
      {"act", "gelu", {"h"}, {"a"}, {{"approximate", Attribute(std::string("tanh"))}}},
      {"norm", "layer_norm", {"a"}, {"z"}, {}},
      {"last", "linear", {"z", "v"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 48}, {"k", 40}, {"n", 36}, {"m", 32}}}};
  REQUIRE_OK(complete(task));
  return task;
}

// The first and the last part by the library.
Strategy with_steps(const Task& task) {
  ProgramStrategy program = plain_program(task, {{0, 1}, {2}, {3}});
  for (const std::size_t part : {std::size_t{0}, std::size_t{2}})
    program.parts[part].strategy.uses = {{std::string(cublaslt_library), {}, "", {}}};
  return as_strategy(program);
}

KernelSource written(const Task& task, const Strategy& strategy) {
  const auto writer = program_writer(task);
  WriterBrief brief;
  brief.task = TaskRef(task);
  brief.strategy = &strategy;
  auto source = writer->write(brief);
  REQUIRE(source);
  return std::move(*source);
}

TEST_CASE("a program with steps of the library is proved by what stands in", "[search][threads]") {
  const Task task = chain_task();
  const auto read = strategy_from_json(strategy_to_json(with_steps(task)));
  REQUIRE_OK(read);
  const KernelSource source = written(task, *read);
  std::vector<std::string> steps;
  for (const PlanLaunch& launch : source.plan.launches) {
    if (!launch.library.empty()) steps.push_back(launch.name);
  }
  CHECK(steps == std::vector<std::string>{"p1_library_product", "p3_library_product"});
  CHECK_THAT(source.text, Catch::Contains("by cublaslt; its kernel stands in elsewhere"));
  const auto writer = program_writer(task);
  const Pipe pipe{TaskRef(task), &device(), writer.get(), 1, nullptr};
  const auto candidate = evaluate(pipe, *read, ProofLevel::candidate);
  REQUIRE_OK(candidate);
  if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
  CHECK_THAT(program_line(*candidate), Catch::StartsWith("program product+act by cublaslt | norm | "
                                                         "last by cublaslt: "));
}

TEST_CASE("a step with another epilogue is refused, and the part is named", "[search][threads]") {
  const Task task = chain_task();
  ProgramWriter writer(task, {});
  auto parts = writer.write_parts(with_steps(task), &device().device());
  REQUIRE(parts);
  auto exposed = exposed_task(task, handed_over(*parts));
  REQUIRE_OK(exposed);
  auto source = join_parts(*exposed, *parts);
  REQUIRE_OK(source);
  Exposed program{TaskRef(std::move(*exposed)), std::move(*parts), std::move(*source)};
  CHECK_FALSE(refused(program).has_value());
  PlanArgument& epilogue = program.source.plan.launches[0].args.at(11);
  REQUIRE(epilogue.value == Expr(static_cast<std::int64_t>(StepEpilogue::gelu)));
  epilogue.value = static_cast<std::int64_t>(StepEpilogue::relu);
  const auto why = refused(program);
  REQUIRE(why);
  CHECK_THAT(why->message, Catch::StartsWith("part product_act"));
}

TEST_CASE("parts that the library does not compute as they are have no step") {
  Task task = chain_task();
  task.operations[1].attributes.clear();  // gelu by erf
  const Strategy strategy = with_steps(task);
  WriterBrief brief;
  brief.task = TaskRef(task);
  brief.strategy = &strategy;
  const auto source = program_writer(task)->write(brief);
  REQUIRE(source.is_rejected());
  CHECK_THAT(source.rejected().message,
             Catch::Contains("part product_act: cuBLASLt has no epilogue equal to operation act"));
}

TEST_CASE("a step of another library than the part's is refused") {
  const Task task = chain_task();
  ProgramStrategy program = plain_program(task, {{0, 1}, {2}, {3}});
  program.parts[2].strategy.uses = {{std::string(cudnn_library), {}, "", {}}};
  const Strategy strategy = as_strategy(program);
  WriterBrief brief;
  brief.task = TaskRef(task);
  brief.strategy = &strategy;
  const auto source = program_writer(task)->write(brief);
  REQUIRE(source.is_rejected());
  CHECK_THAT(source.rejected().message,
             Catch::Contains("part last: cudnn does not compute it, cublaslt does"));
}

// A virtual device that says that it measures, and whose library computes any product at once.
class Measuring final : public ForwardingDevice {
 public:
  explicit Measuring(std::vector<std::string> libraries = {"cublaslt"})
      : ForwardingDevice(opened()), traits_(inner().traits()) {
    traits_.provenance = Provenance::measured;
    traits_.libraries = std::move(libraries);
  }
  const DeviceTraits& traits() const override { return traits_; }
  Result<std::vector<SubjectReport>> measure(const TaskRef& task, const Workload& workload,
                                             std::span<const Subject> subjects,
                                             const MeasureOptions& options) override {
    auto reports = ForwardingDevice::measure(task, workload, subjects, options);
    for (std::size_t i = 0; reports && i < subjects.size(); ++i) {
      Attempt<Measurement>& one = (*reports)[i].measurement;
      if (one && subjects[i].kernel != nullptr &&
          has_library_step(subjects[i].kernel->source.plan)) {
        one->time_us = step_us;
        one->samples_us.assign(one->samples_us.size(), step_us);
        ++steps;
      }
      if (subjects[i].kind != Subject::Kind::library || !(library_us > 0)) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its samples take no longer
      Measurement beside;
      beside.time_us = library_us;
      beside.samples_us.assign(5, library_us);
      beside.provenance = Provenance::measured;
      one = std::move(beside);
    }
    return reports;
  }
  double step_us = 1;
  double library_us = 0;  // of its call beside a part's kernels; 0: not told
  int steps = 0;          // times that a step was measured

 private:
  static std::unique_ptr<Backend> opened() {
    auto backend = open_backend("virtual:h200", kept_images());
    REQUIRE_OK(backend);
    return std::move(*backend);
  }
  DeviceTraits traits_;
};

TEST_CASE("a step of a part is proved as an elite and timed", "[search][threads]") {
  const Task task = chain_task();
  for (const Part& part : {Part{0, 1}, Part{3}}) {
    const auto form = served_part(task, part, builtin_families());
    REQUIRE_OK(form);
    const auto source = library_part(form->task, builtin_families());
    REQUIRE(source);
    Measuring measuring;
    measuring.step_us = 5;
    const Pipe pipe{TaskRef(form->task), &measuring, nullptr, 1, nullptr};
    const auto candidate = evaluate_source(pipe, *source, ProofLevel::elite);
    REQUIRE_OK(candidate);
    if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
    const auto& accepted = std::get<Accepted>(candidate->outcome);
    CHECK(accepted.measurement.time_us == 5);
  }
}

TEST_CASE("a search takes the library's step where it is faster, and says so",
          "[search][long][threads]") {
  const Task task = chain_task();
  Measuring measuring;
  measuring.step_us = 2.5;
  const TempDir dir;
  EvolveOptions options;
  options.search.max_evaluations = 16;
  options.run_dir = dir / "run";
  options.pool = "off";
  options.screening = false;
  const auto report = evolve(task, measuring, options);
  REQUIRE_OK(report);
  REQUIRE(report->best);
  std::string notices;
  for (const std::string& one : report->notices) notices += one + "\n";
  CHECK_THAT(notices, Catch::Contains("; as a step of cublaslt 2.5 us"));
  CHECK(has_library_step(report->best->candidate.source.plan));
  CHECK_THAT(program_line(report->best->candidate), Catch::Contains("last by cublaslt: 2.5 us"));
  const auto main = real_host().read_file(dir / "run/best/main.cpp");
  REQUIRE_OK(main);
  CHECK_THAT(*main, Catch::Contains("cublasLtMatmul("));
  const auto makefile = real_host().read_file(dir / "run/best/Makefile");
  REQUIRE_OK(makefile);
  CHECK_THAT(*makefile, Catch::Contains("-lcublasLt"));
}

TEST_CASE("a step is proved only where the library's call is faster than a part's kernel",
          "[search][long][threads]") {
  for (const double beside : {0.1, 1000.0}) {
    INFO(beside);
    const auto task = support::deep_task(2, 64, 64);
    REQUIRE_OK(task);
    Measuring measuring;
    measuring.step_us = measuring.library_us = beside;
    EvolveOptions options;
    options.search.max_evaluations = 12;
    options.pool = "off";
    options.screening = false;
    const auto report = evolve(*task, measuring, options);
    REQUIRE_OK(report);
    std::string told;
    for (const std::string& one : report->notices) told += one + "\n";
    INFO(told);
    CHECK((measuring.steps > 0) == (beside < 1));
  }
}

TEST_CASE("a run that does not ask the library has no baseline of it", "[search][threads]") {
  const auto task = served_part(chain_task(), Part{3}, builtin_families());
  REQUIRE_OK(task);
  for (const bool asks : {true, false}) {
    Measuring measuring;
    measuring.library_us = 5;
    EvolveOptions options;
    options.search.max_evaluations = 2;
    options.pool = "off";
    options.plain_baseline = false;
    options.screening = false;
    const auto report = evolve_kernel(task->task, measuring, options, {.asks_library = asks});
    REQUIRE_OK(report);
    REQUIRE(report->best);
    CHECK(report->best->baselines.size() == (asks ? 1 : 0));
  }
}

TEST_CASE("a run resumed without the library leaves its steps out, and says so",
          "[search][threads]") {
  const Task task = chain_task();
  const TempDir dir;
  EvolveOptions options;
  options.search.max_evaluations = 4;
  options.run_dir = dir / "run";
  options.pool = "off";
  options.screening = false;
  Measuring begun;
  begun.step_us = 0.5;
  const auto first = evolve(task, begun, options);
  REQUIRE_OK(first);
  REQUIRE(first->best);
  REQUIRE(has_library_step(first->best->candidate.source.plan));
  EvolveOptions more;
  more.pool = "off";
  more.raise_evaluations = 8;
  Measuring without({});
  without.step_us = 0.5;
  const auto second = resume(dir / "run", without, more);
  REQUIRE_OK(second);
  std::string notices;
  for (const std::string& one : second->notices) notices += one + "\n";
  CHECK_THAT(notices, Catch::Contains("as a step of cublaslt refused: cublaslt was there when it "
                                      "was timed, and is not now"));
  const auto read = read_run(dir / "run");
  REQUIRE_OK(read);
}

// One convolution; tensors x, v, perhaps b, and y.
struct Convolution {
  const char* name;
  const char* kind;
  std::vector<Expr> x, weight, y;
  std::map<std::string, Attribute> attributes;
  bool bias = false;
  DType type = DType::f32;
  Precision precision = Precision::fp32_strict;
};
Attribute whole(std::int64_t value) { return value; }
Attribute each(std::vector<std::int64_t> values) { return values; }
Task convolution_task(const Convolution& row) {
  Task task;
  task.name = "convolution";
  task.axes = {{"n"}, {"h"}, {"w"}};
  const auto add = [&](const char* name, Role role, const std::vector<Expr>& shape) {
    task.tensors.push_back({.name = name, .role = role, .type = row.type, .shape = shape});
  };
  add("x", Role::in, row.x);
  add("v", Role::in, row.weight);
  if (row.bias) add("b", Role::in, {row.y[1]});
  add("y", Role::out, row.y);
  std::vector<std::string> inputs{"x", "v"};
  if (row.bias) inputs.emplace_back("b");
  task.operations = {{"conv", row.kind, inputs, {"y"}, row.attributes}};
  task.precision = row.precision;
  task.time_shapes = {{{{"n", 2}, {"h", 9}, {"w", 8}}}};
  REQUIRE_OK(complete(task));
  return task;
}

const std::vector<Convolution>& convolutions() {
  static const std::vector<Convolution> all = {
      {"of a line", "conv1d", {"n", 4, "w"}, {6, 4, 3}, {"n", 6, "w - 2"}, {}, true},
      {"with stride, padding, dilation and groups",
       "conv2d",
       {"n", 4, "h", "w"},
       {6, 2, 3, 2},
       {"n", 6, "(h - 1) / 2 + 1", "w"},
       {{"stride", each({2, 1})},
        {"padding", each({1, 1})},
        {"dilation", each({1, 2})},
        {"groups", whole(2)}},
       true},
      {"of a volume",
       "conv3d",
       {"n", 2, "h", "w", 3},
       {4, 2, 2, 3, 3},
       {"n", 4, "h - 1", "w", 3},
       {{"padding", each({0, 1, 1})}}},
      {"of the same size",
       "conv2d",
       {"n", 2, "h", "w"},
       {4, 2, 3, 3},
       {"n", 4, "h", "w"},
       {{"same", whole(1)}, {"dilation", whole(2)}}},
      {"transposed, in groups",
       "conv_transpose2d",
       {"n", 4, "h", "w"},
       {4, 3, 3, 2},
       {"n", 6, "2 * (h - 1) + 2", "w + 1"},
       {{"stride", each({2, 1})},
        {"padding", each({1, 0})},
        {"output_padding", each({1, 0})},
        {"groups", whole(2)}},
       true},
      {"of bf16",
       "conv2d",
       {"n", 4, "h", "w"},
       {6, 4, 3, 3},
       {"n", 6, "h - 2", "w - 2"},
       {},
       false,
       DType::bf16,
       Precision::bf16},
  };
  return all;
}

TEST_CASE("what stands in for a convolution of the library is right", "[search][threads]") {
  for (const Convolution& row : convolutions()) {
    INFO(row.name);
    const Task task = convolution_task(row);
    const auto source = library_part(task, builtin_families());
    if (source.is_rejected()) FAIL(source.rejected().message);
    REQUIRE(source);
    CHECK(source->template_name == cudnn_library);
    CHECK(has_step_of(source->plan, cudnn_library));
    const Pipe pipe{TaskRef(task), &device(), nullptr, 1, nullptr};
    const auto candidate = evaluate_source(pipe, *source, ProofLevel::candidate);
    REQUIRE_OK(candidate);
    if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
    CHECK(std::holds_alternative<Accepted>(candidate->outcome));
  }
}

TEST_CASE("convolutions that the library does not compute as they are have no step") {
  const Convolution& usual = convolutions()[1];
  struct Row {
    const char* says;
    std::function<void(Convolution&)> change;
  };
  const Row rows[] = {{"a step of fp32 operands in class fp64",
                       [](Convolution& one) { one.precision = Precision::fp64; }},
                      {"a step of bf16 operands in class fp32-strict",
                       [](Convolution& one) {
                         one.type = DType::bf16;
                         one.precision = Precision::fp32_strict;
                       }},
                      {"rounds a result of 16 bits before it adds the bias",
                       [](Convolution& one) {
                         one.type = DType::bf16;
                         one.precision = Precision::bf16;
                       }},
                      {"cuDNN pads both sides alike", [](Convolution& one) {
                         one.attributes = {{"same", whole(1)}, {"groups", whole(2)}};
                         one.y = {"n", 6, "h", "w"};
                       }}};
  for (const Row& row : rows) {
    INFO(row.says);
    Convolution changed = usual;
    row.change(changed);
    const auto source = library_part(convolution_task(changed), builtin_families());
    REQUIRE(source.is_rejected());
    CHECK_THAT(source.rejected().message, Catch::Contains(row.says));
  }
  Task task = convolution_task(usual);
  task.tensors.back().type = DType::bf16;
  CHECK_THAT(library_part(task, builtin_families()).rejected().message,
             Catch::Contains("of one type"));
}

// A convolution, relu, a convolution.
Task two_convolutions() {
  const auto tensor = [](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name, .role = role, .shape = std::move(shape)};
  };
  Task task;
  task.name = "convolutions";
  task.axes = {{"n"}, {"w"}};
  task.tensors = {tensor("x", Role::in, {"n", 3, "w"}), tensor("v", Role::in, {4, 3, 3}),
                  tensor("b", Role::in, {4}), tensor("u", Role::in, {5, 4, 3}),
                  tensor("y", Role::out, {"n", 5, "w - 4"})};
  task.operations = {{"one", "conv1d", {"x", "v", "b"}, {"h1"}, {}},
                     {"act", "relu", {"h1"}, {"h2"}, {}},
                     {"two", "conv1d", {"h2", "u"}, {"y"}, {}}};
  task.time_shapes = {{{{"n", 2}, {"w", 19}}}};
  REQUIRE_OK(complete(task));
  return task;
}

TEST_CASE("a program of convolutions by the library is proved by what stands in",
          "[search][threads]") {
  const Task task = two_convolutions();
  ProgramStrategy program = plain_program(task, {{0}, {1}, {2}});
  for (const std::size_t part : {std::size_t{0}, std::size_t{2}})
    program.parts[part].strategy.uses = {{std::string(cudnn_library), {}, "", {}}};
  const auto read = strategy_from_json(strategy_to_json(as_strategy(program)));
  REQUIRE_OK(read);
  const KernelSource source = written(task, *read);
  CHECK_THAT(source.text, Catch::Contains("by cudnn; its kernel stands in elsewhere"));
  const auto writer = program_writer(task);
  const Pipe pipe{TaskRef(task), &device(), writer.get(), 1, nullptr};
  const auto candidate = evaluate(pipe, *read, ProofLevel::candidate);
  REQUIRE_OK(candidate);
  if (const auto* why = std::get_if<Rejected>(&candidate->outcome)) FAIL(why->message);
  CHECK_THAT(program_line(*candidate),
             Catch::StartsWith("program one by cudnn | act | two by cudnn: "));
}

TEST_CASE("a search has convolutions by cuDNN where the device has it", "[search][long][threads]") {
  const Task task = two_convolutions();
  for (const bool has : {true, false}) {
    INFO(has);
    Measuring measuring(has ? std::vector<std::string>{"cublaslt", "cudnn"}
                            : std::vector<std::string>{"cublaslt"});
    measuring.step_us = 0.5;
    const TempDir dir;
    EvolveOptions options;
    options.search.max_evaluations = has ? 8 : 12;
    options.run_dir = dir / "run";
    options.pool = "off";
    options.screening = false;
    const auto report = evolve(task, measuring, options);
    REQUIRE_OK(report);
    REQUIRE(report->best);
    std::string notices;
    for (const std::string& one : report->notices) notices += one + "\n";
    CHECK((notices.find("as a step of") != std::string::npos) == has);
    CHECK(has_step_of(report->best->candidate.source.plan, cudnn_library) == has);
    const auto makefile = real_host().read_file(dir / "run/best/Makefile");
    REQUIRE_OK(makefile);
    CHECK((makefile->find("-l:libcudnn.so.9") != std::string::npos) == has);
    if (!has) continue;
    CHECK_THAT(notices, Catch::Contains("; as a step of cudnn 0.5 us"));
    const auto main = real_host().read_file(dir / "run/best/main.cpp");
    REQUIRE_OK(main);
    CHECK_THAT(*main, Catch::Contains("cudnnConvolutionForward(") &&
                          Catch::Contains("// Needs the CUDA toolkit and cuDNN 9: make"));
  }
}

}  // namespace
}  // namespace cupilot::testing
