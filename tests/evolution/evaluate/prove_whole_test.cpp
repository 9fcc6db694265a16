// Whole graphs against honest executions: what their parts' bounds no longer see is refused.
#include "evolution/evaluate/prove_whole.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>

#include "backend/observed.hpp"
#include "base/stop.hpp"
#include "catch.hpp"
#include "evolution/evaluate/one_by_one.hpp"
#include "evolution/hooked.hpp"
#include "evolution/program/support.hpp"
#include "task/reference/stage_plan.hpp"

namespace cupilot::testing {
namespace {

Task mlp_task(Precision precision = Precision::fp32_strict, DType type = DType::f32) {
  const auto tensor = [&](const char* name, Role role, std::vector<Expr> shape) {
    return Tensor{.name = name,
                  .role = role,
                  .type = role == Role::out ? DType::f32 : type,
                  .shape = std::move(shape)};
  };
  Task task;
  task.name = "mlp";
  task.precision = precision;
  task.axes = {{"rows"}, {"k", AxisKind::reduced}, {"n"}, {"m"}};
  task.tensors = {tensor("x", Role::in, {"rows", "k"}), tensor("w", Role::in, {"n", "k"}),
                  tensor("v", Role::in, {"m", "n"}), tensor("y", Role::out, {"rows", "m"})};
  task.operations = {{"first", "linear", {"x", "w"}, {"h"}, {}},
                     {"act", "gelu", {"h"}, {"a"}, {}},
                     {"last", "linear", {"a", "v"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 24}, {"k", 96}, {"n", 80}, {"m", 24}}}};
  REQUIRE_OK(complete(task));
  return task;
}

constexpr const char* text = R"(
#if !defined(TERMS)
#define TERMS(k) (k)
#endif
#if !defined(OPERAND)
#define OPERAND(x) (x)
#endif
#if !defined(FIRST)
#define FIRST(x) (x)
#endif
#if !defined(INPUT)
#define INPUT float
#endif
#if !defined(EDGE)
#define EDGE(x) (x)
#endif
__device__ float cut(float x, int bits) {
  return __uint_as_float(__float_as_uint(x) + (1u << (22 - bits)) & ~((1u << (23 - bits)) - 1u));
}
__device__ float chopped(float x, int bits) {
  return __uint_as_float(__float_as_uint(x) & ~((1u << (23 - bits)) - 1u));
}
struct bf16 { unsigned short bits; };
__device__ float number(float x) { return x; }
__device__ float number(bf16 x) { return __uint_as_float(x.bits << 16); }
template <class X>
__device__ void product_of(const X* x, const INPUT* w, float* y, int rows, int n, int k, int last) {
  const int e = blockIdx.x * 128 + threadIdx.x;
  if (e >= rows * n) return;
  float acc = 0.0f;
  for (int i = 0; i < (last ? TERMS(k) : k); ++i) {
    const float a = number(x[e / n * k + i]), b = number(w[e % n * k + i]);
    acc = last ? fmaf(OPERAND(a), OPERAND(b), acc) : fmaf(FIRST(a), FIRST(b), acc);
#if defined(CHOPPED)
    if (i % 8 == 7) acc = __uint_as_float(__float_as_uint(acc) - (acc != 0.0f));
#endif
  }
  y[e] = last ? acc : EDGE(0.5f * acc * (1.0f + erff(acc * 0.70710678118654752f)));
}
extern "C" __global__ void product(const INPUT* x, const INPUT* w, float* y, int rows, int n, int k) {
  product_of(x, w, y, rows, n, k, 0);
}
extern "C" __global__ void second(const float* x, const INPUT* w, float* y, int rows, int n, int k) {
  product_of(x, w, y, rows, n, k, 1);
}
)";

KernelSource mlp_kernel(const std::string& fault) {
  const auto named = [](const char* name) {
    return PlanArgument{PlanArgument::Kind::name, name, 0};
  };
  const auto number = [](const char* value) {
    return PlanArgument{PlanArgument::Kind::i32, "", Expr(value)};
  };
  KernelSource source;
  source.text = fault + text;
  source.plan.buffers = {{"h", Expr("rows * n * 4")}};
  PlanLaunch first;
  first.name = "first";
  first.entry = "product";
  first.grid = {Expr("cdiv(rows * n, 128)")};
  first.block = {128};
  first.args = {named("x"), named("w"), named("h"), number("rows"), number("n"), number("k")};
  PlanLaunch last = first;
  last.name = "last";
  last.grid = {Expr("cdiv(rows * m, 128)")};
  last.entry = "second";
  last.args = {named("h"), named("v"), named("y"), number("rows"), number("m"), number("n")};
  source.plan.launches = {first, last};
  return source;
}

CompiledKernel compiled(const std::string& fault) {
  const auto kernel = device().compile(mlp_kernel(fault));
  if (kernel.is_rejected()) FAIL(kernel.rejected().message);
  REQUIRE(kernel);
  return *kernel;
}

TEST_CASE("a whole graph errs no more than honest executions", "[threads]") {
  struct Row {
    const char* name;
    const char* fault;
    bool refused;
  };
  const Row rows[] = {
      {"honest", "", false},
      {"tf32 in the second product", "#define OPERAND(x) cut(x, 10)\n", true},
      {"bf16 in the second product", "#define OPERAND(x) cut(x, 7)\n", true},
      {"an intermediate in bf16", "#define EDGE(x) cut(x, 7)\n", true},
      {"a term is dropped", "#define TERMS(k) ((k) - 1)\n", true},
  };
  const TaskRef task(mlp_task());
  REQUIRE(is_proved_as_a_whole(task));
  for (const Row& row : rows) {
    INFO(row.name);
    const auto proof = prove_whole(device(), task, compiled(row.fault), 1);
    REQUIRE_OK(proof);
    CHECK(proof->refused.has_value() == row.refused);
    CHECK(proof->proved.empty() == row.refused);
    if (proof->refused) CHECK(proof->refused->code == "verify.bound");
  }
}

TEST_CASE("graphs in lower classes err no more than honest executions in them", "[threads]") {
  const std::string nearest = "#define FIRST(x) cut(x, BITS)\n#define OPERAND(x) cut(x, BITS)\n",
                    chopped =
                        "#define FIRST(x) chopped(x, BITS)\n"
                        "#define OPERAND(x) chopped(x, BITS)\n#define CHOPPED\n",
                    mixed = "#define FIRST(x) chopped(x, BITS)\n#define CHOPPED\n",
                    other = "#define OPERAND(x) chopped(x, BITS)\n",
                    dropped = "#define TERMS(k) ((k) - 1)\n";
  struct Row {
    Precision precision;
    DType type;
    std::string fault;
    bool refused;
  };
  std::vector<Row> rows;
  for (const auto& [precision, type] : {std::pair{Precision::tf32, DType::f32},
                                        {Precision::fp16, DType::f32},
                                        {Precision::bf16, DType::f32},
                                        {Precision::bf16, DType::bf16}}) {
    const bool coarse = precision == Precision::bf16;
    std::string own = coarse ? "#define BITS 7\n" : "#define BITS 10\n";
    if (type == DType::bf16) own += "#define INPUT bf16\n";
    const std::string lower = coarse ? "3" : "7";
    for (const std::string& honest : {std::string(), nearest, chopped, mixed, other})
      rows.push_back({precision, type, own + honest, false});
    for (const std::string& fault :
         {dropped, "#define OPERAND(x) cut(x, " + lower + ")\n",
          "#define EDGE(x) cut(x, " + std::string(coarse ? "3" : "5") + ")\n", nearest + dropped})
      rows.push_back({precision, type, own + fault, true});
  }
  for (const Row& row : rows) {
    INFO(name_of(row.precision) << " " << static_cast<int>(row.type) << "\n" << row.fault);
    const TaskRef task(mlp_task(row.precision, row.type));
    REQUIRE(is_proved_as_a_whole(task));
    for (const std::uint64_t seed : {1, 2}) {
      const auto proof = prove_whole(device(), task, compiled(row.fault), seed);
      REQUIRE_OK(proof);
      UNSCOPED_INFO("of what is allowed: " << proof->worst);
      CHECK(proof->refused.has_value() == row.refused);
    }
  }
}

// A device whose honest executions wait for one another.
class Meeting : public Hooked, public ObservingDevice {
 public:
  Meeting(const TempDir& dir, Backend& real)
      : Hooked(fake_device(write_landscape(dir))), real_(real), observing_(of(real)) {}
  static ObservingDevice& of(Backend& real) { return dynamic_cast<ObservingDevice&>(real); }

  Result<CaseReport> observe(const TaskRef& task, const CompiledKernel& kernel, const Case& what,
                             Storages& left) override {
    return observing_.observe(task, kernel, what, left);
  }
  Result<Storages> honest(const TaskRef& task, const Workload& workload,
                          std::span<const std::vector<std::byte>> tensors,
                          HonestOrder order) override {
    std::unique_lock lock(mutex_);
    most = std::max(most, ++inside_);
    met_.notify_all();
    met_.wait_for(lock, std::chrono::seconds(2), [&] { return most > 1; });
    --inside_;
    lock.unlock();
    return observing_.honest(task, workload, tensors, order);
  }
  Result<CaseReport> judge(const TaskRef& task, const Case& what,
                           std::span<const std::vector<std::byte>> left) override {
    return observing_.judge(task, what, left);
  }
  Result<std::vector<ReferenceValues>> reference(
      const TaskRef& task, const Workload& workload,
      std::span<const std::vector<std::byte>> tensors) override {
    return real_.inspector().reference(task, workload, tensors);
  }
  int most = 0;  // at a time

 private:
  Backend& real_;
  ObservingDevice& observing_;
  std::mutex mutex_;
  std::condition_variable met_;
  int inside_ = 0;
};

TEST_CASE("honest executions run side by side", "[threads]") {
  const TaskRef task(mlp_task());
  const TempDir dir;
  Meeting meeting(dir, device());
  const Case what{.workload = task->time_shapes[0], .content = {.seed = 7}};
  const auto honest = honest_reference(meeting, task, what);
  REQUIRE_OK(honest);
  CHECK(meeting.most > 1);
  REQUIRE(honest->err0.size() == 1);
  CHECK(honest->err0[0].size() == 24 * 24);
}

TEST_CASE("what was computed of given inputs is known until the device is renewed", "[threads]") {
  const TaskRef task(mlp_task());
  const Case what{.workload = task->time_shapes[0], .content = {.seed = 8}};
  auto honest = honest_reference(device(), task, what);
  REQUIRE_OK(honest);
  ObservingDevice& observing = Meeting::of(device());
  const auto left = [&](const Storages& inputs) {
    return observing.honest(task, what.workload, inputs, HonestOrder::blocks);
  };
  const auto values = [&](const Storages& inputs) {
    return device().inspector().reference(task, what.workload, inputs);
  };
  const auto first = left(honest->inputs);
  REQUIRE_OK(first);
  CHECK((*first)[0] == honest->inputs[0]);
  const std::atomic<bool> cancelled{true};
  const StopScope stopped({&cancelled});  // nothing more is computed
  const auto again = left(honest->inputs);
  REQUIRE_OK(again);
  CHECK(*again == *first);
  const auto known = values(honest->inputs);
  REQUIRE_OK(known);
  CHECK((*known)[0].values == honest->want[0].values);
  Storages other = honest->inputs;
  other[1][3] ^= std::byte{1};
  CHECK_FALSE(left(other));
  CHECK_FALSE(values(other));
  REQUIRE_OK(device().inspector().renew());
  CHECK_FALSE(left(honest->inputs));
  CHECK_FALSE(values(honest->inputs));
}

TEST_CASE("a whole is held to honest executions that its caller knows", "[threads]") {
  const TaskRef task(mlp_task());
  int asked = 0;
  const HonestSource known = [&](const Case& what) {
    ++asked;
    auto honest = honest_reference(device(), task, what);
    REQUIRE_OK(honest);
    for (ReferenceValues& one : honest->want)
      for (double& value : one.values) value += 1;  // which no kernel computes
    return Result(std::make_shared<const HonestReference>(std::move(*honest)));
  };
  const auto proof = prove_whole(device(), task, compiled(""), 1, known);
  REQUIRE_OK(proof);
  CHECK(proof->refused);
  CHECK(asked == 1);
}

TEST_CASE("a small miss is judged again, beside further honest executions", "[threads]") {
  const TaskRef task(mlp_task());
  std::map<ContentKind, HonestReference> honest;
  const CompiledKernel kernel = compiled("");
  int refused = 0;
  for (double share = 0.6; share > 0.002; share *= 0.8) {
    const HonestSource known = [&](const Case& what) {
      auto& one = honest[what.content.kind];
      if (one.err0.empty()) one = *honest_reference(device(), task, what);
      HonestReference lucky = one;  // executions that happened to err little
      for (std::vector<double>& errors : lucky.err0)
        for (double& error : errors) error *= share;
      return Result(std::make_shared<const HonestReference>(std::move(lucky)));
    };
    const auto proof = prove_whole(device(), task, kernel, 1, known);
    REQUIRE_OK(proof);
    INFO(share << " " << proof->worst);
    CHECK((!proof->refused || proof->worst >= 2));
    refused += proof->refused ? 1 : 0;
  }
  CHECK(refused > 0);
}

// A device whose honest executions overflow.
class Overflowing final : public Meeting {
 public:
  using Meeting::Meeting;
  Result<Storages> honest(const TaskRef& task, const Workload& workload,
                          std::span<const std::vector<std::byte>> tensors,
                          HonestOrder order) override {
    auto left = Meeting::honest(task, workload, tensors, order);
    if (!left) return left;
    const float infinite = HUGE_VALF;
    for (std::size_t at = 0; at < left->back().size(); at += sizeof infinite)
      std::memcpy(left->back().data() + at, &infinite, sizeof infinite);
    return left;
  }
};

TEST_CASE("further honest executions that overflow excuse nothing", "[threads]") {
  const TaskRef task(mlp_task());
  const CompiledKernel kernel = compiled("");
  const Case what = cases_of_the_whole(*task, kernel.source, device().device(), 1).front();
  const auto known = honest_reference(device(), task, what);
  REQUIRE_OK(known);
  Storages left;
  REQUIRE_OK(Meeting::of(device()).observe(task, kernel, what, left));
  WholeProof once;
  HonestReference lucky;
  for (double share = 0.6; share > 0.002 && !once.refused; share *= 0.9) {
    lucky = *known;
    for (double& error : lucky.err0[0]) error *= share;
    once = {};
    REQUIRE_OK(judge_whole(*task, lucky, left, once));
  }
  REQUIRE(once.refused);
  REQUIRE(once.worst < 2);  // a small miss
  const TempDir dir;
  Overflowing overflowing(dir, device());
  const HonestSource source = [&](const Case& asked) {
    const bool first = asked.content == what.content;
    auto honest = first ? Result(lucky) : honest_reference(device(), task, asked);
    REQUIRE_OK(honest);
    return Result(std::make_shared<const HonestReference>(std::move(*honest)));
  };
  const auto proof = prove_whole(overflowing, task, kernel, 1, source);
  REQUIRE_OK(proof);
  CHECK(proof->refused);
}

TEST_CASE("a factor beyond a type's largest number is infinite, and truncated the largest") {
  struct Row {
    double value, nearest, truncated;
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const Row& row :
       {Row{65504, 65504, 65504}, Row{65519, 65504, 65504}, Row{65520, infinite, 65504},
        Row{-1e9, -infinite, -65504}, Row{2049, 2048, 2048}, Row{2051, 2052, 2050}}) {
    INFO(row.value);
    FactorWidth width = width_of(Precision::fp16);
    CHECK(narrowed(row.value, width) == row.nearest);
    width.truncates = true;
    CHECK(narrowed(row.value, width) == row.truncated);
  }
}

TEST_CASE("values at other shapes are unproved where the bound accepts zeros", "[threads]") {
  const TaskRef task(mlp_task());
  for (const double sum : {1.0, 1e12}) {
    const HonestSource known = [&](const Case& what) {
      auto honest = honest_reference(device(), task, what);
      REQUIRE_OK(honest);
      for (ReferenceValues& one : honest->want)
        for (double& condition : one.sums) condition *= sum;
      return Result(std::make_shared<const HonestReference>(std::move(*honest)));
    };
    const auto proof = prove_whole(device(), task, compiled(""), 1, known);
    REQUIRE_OK(proof);
    CHECK_FALSE(proof->refused);
    CHECK_FALSE(proof->proved.empty());
    CHECK((proof->unproved.find("accepts zeros for y") != std::string::npos) == (sum > 1));
  }
}

TEST_CASE("a loop of many steps is proved as a whole at a shape of its own that is cheap") {
  std::ifstream in(CUPILOT_SOURCE_DIR "/examples/graph/lstm.json");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const auto& [from, to] : {std::pair("\"count\": 6", "\"count\": 512"),
                                 std::pair("[6, \"batch\"", "[512, \"batch\"")}) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, std::string(from).size(), to);
  }
  const auto task = task_from_json(text, "lstm.json");
  REQUIRE_OK(task);
  KernelSource source;
  PlanLaunch launch{.name = "k", .entry = "k"};
  launch.grid = {Expr("cdiv(512 * batch * 48, 128)")};
  launch.block = {128};
  source.plan.launches = {launch};
  const auto cases = cases_of_the_whole(*task, source, *chip("h200"), 1);
  REQUIRE(cases.size() == 5);
  CHECK(reference_terms(*task, cases.front().workload) <= 4e6);
}

TEST_CASE("a device that does not observe leaves the whole unproved") {
  const TempDir dir;
  const auto fake = fake_device(write_landscape(dir));
  REQUIRE(fake != nullptr);
  const auto proof = prove_whole(*fake, TaskRef(mlp_task()), {}, 1);
  REQUIRE_OK(proof);
  CHECK_FALSE(proof->refused);
  CHECK_THAT(proof->unproved, Catch::Contains("no virtual device"));
}

TEST_CASE("a product that overflows before a gelu refuses no honest kernel", "[threads]") {
  const TaskRef task(mlp_task());
  const auto failed = [&](const char* fault) {
    Case what;
    what.workload = task->time_shapes[0];
    what.content = {1, ContentKind::special};
    const CompiledKernel kernel = compiled(fault);
    const auto report = device().run(task, kernel, {&what, 1});
    REQUIRE_OK(report);
    REQUIRE(report->cases.size() == 1);
    REQUIRE(report->cases[0].outputs.size() == 1);
    return report->cases[0].outputs[0].failed;
  };
  CHECK(failed("") == 0);
  CHECK(failed("#define EDGE(x) ((x) != (x) ? 0.0f : (x))\n") > 0);  // drops a NaN
}

}  // namespace
}  // namespace cupilot::testing
