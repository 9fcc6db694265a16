// Staged references of every operator against what PyTorch gave in fp64 on a device.
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "catch.hpp"
#include "operators/recorded.hpp"
#include "support/sample.hpp"
#include "task/operators.hpp"
#include "task/reference/staged_values.hpp"

namespace cupilot {
namespace {

using testing::Difference;
using testing::RecordedCase;
using testing::StagedRun;
using testing::StagedValues;

// Cases that one CUDA text holds: compiling costs most.
constexpr std::size_t cases_a_module = 24;

struct Made {
  const RecordedCase* of = nullptr;
  Task task{};
  ReferenceProgram program{};
};

// Operators whose attributes or shape tell sizes that a tensor's must equal.
bool needs_numbers(const std::string& op) { return op == "expand"; }

// A task of the case alone. Every second one has an axis for each size, "d5" for 5, so that shapes
// are expressions.
Task task_of(const RecordedCase& of, std::size_t number) {
  Task task;
  task.name = fmt::format("{} {}", of.op, of.number);
  Operation operation{.name = fmt::format("op{}", number), .kind = of.op};
  operation.attributes = of.attributes;
  const bool symbolic = of.number % 2 == 1 && !needs_numbers(of.op);
  const bool window = of.op.starts_with("conv");
  Sizes sizes;
  for (const auto& input : of.inputs) {
    const std::string name = fmt::format("in{}_{}", operation.inputs.size(), number);
    operation.inputs.push_back(input.absent ? "" : name);
    if (input.absent) continue;
    Tensor tensor{.name = name, .type = input.type};
    for (const std::int64_t extent : input.shape) {
      const bool of_window = window && operation.inputs.size() == 2 && tensor.shape.size() >= 2;
      const std::string axis = fmt::format("d{}", extent);
      const bool named = symbolic && extent > 1 && !of_window;
      tensor.shape.push_back(named ? Expr(axis) : Expr(extent));
      if (named) sizes[axis] = extent;
    }
    task.tensors.push_back(std::move(tensor));
  }
  for (const auto& output : of.outputs) {
    Tensor tensor{.name = fmt::format("out{}_{}", operation.outputs.size(), number),
                  .role = Role::out};
    for (const std::int64_t extent : output.shape) tensor.shape.emplace_back(extent);
    operation.outputs.push_back(tensor.name);
    task.tensors.push_back(std::move(tensor));
  }
  for (const auto& [name, size] : sizes) task.axes.push_back({name, AxisKind::free});
  task.operations = {operation};
  task.time_shapes = {{.sizes = std::move(sizes)}};
  return task;
}

// Where a value differs: "" where it does not.
std::string difference_kind(double want, double got, double sum) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? "" : "nan";
  if (std::isinf(want) || std::isinf(got)) return want == got ? "" : "infinity";
  if (want == got) return std::signbit(want) == std::signbit(got) ? "" : "zero sign";
  const double size = std::isfinite(sum) ? std::max(std::fabs(want), sum) : std::fabs(want);
  const double off = std::fabs(want - got);
  if (off <= 0x1p-40 * size + 0x1p-1060) return "";
  return off <= 0x1p-20 * size ? "rounding" : "value";
}

// The text with functions of numbers and values of stages as calls: inlined, they are compiled a
// hundred times over.
std::string called(std::string text) {
  for (const char* begin : {"CUPILOT_HD void add(", "CUPILOT_HD Real total(", "CUPILOT_HD tracked ",
                            "__device__ real cupilot_value_", "__device__ real cupilot_fold_",
                            "__device__ real cupilot_finish_"}) {
    const std::string what = begin;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 20)) {
      const std::size_t name = at + what.size(), end = text.find('(', name);
      if (what.ends_with("tracked ") && text[end - 1] != '_') continue;
      text.insert(at, "__noinline__ ");
      at += 13;
    }
  }
  return text;
}

class Comparison {
 public:
  void add(const RecordedCase& of) {
    Made made{.of = &of, .task = task_of(of, made_.size())};
    if (const auto done = complete(made.task); !done) {
      say(of, "refused", done.error().message);
      return;
    }
    auto program = reference_program(made.task, ReferenceBuild::tracked);
    REQUIRE(program);
    made.program = std::move(*program);
    made_.push_back(std::move(made));
    if (made_.size() == cases_a_module) flush();
  }

  void flush() {
    if (made_.empty()) return;
    const std::string& first = made_[0].program.text;
    std::string text = first.substr(0, first.find("\nusing real = "));
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const std::string& one = made_[i].program.text;
      text +=
          fmt::format("\nnamespace case{} {{{}}}\n", i, one.substr(one.find("\nusing real = ")));
    }
    const auto module = support::module_of(support::compile_ptx(called(text)));
    for (const Made& made : made_) compare(made, module);
    made_.clear();
  }

  // Of one operator: kinds of differences, an example of each.
  const std::map<std::pair<std::string, std::string>, std::string>& found() const { return found_; }
  std::size_t cases() const { return cases_; }
  std::size_t values() const { return values_; }

 private:
  void compare(const Made& made, const std::shared_ptr<const ptx::Module>& module) {
    std::vector<std::vector<std::uint8_t>> inputs;
    for (const auto& input : made.of->inputs) {
      if (!input.absent) inputs.push_back(input.bytes);
    }
    StagedRun run(made.task, made.program, module, inputs);
    for (std::size_t o = 0; o < made.of->outputs.size(); ++o) {
      const auto& want = made.of->outputs[o].values;
      const bool store = made.of->number % 3 != 0;
      const StagedValues got = run.values(made.task.operations[0].outputs[o],
                                          static_cast<std::int64_t>(want.size()), store);
      for (std::size_t i = 0; i < want.size(); ++i) {
        const std::string kind = difference_kind(want[i], got.values[i], std::fabs(got.sums[i]));
        if (!kind.empty())
          say(*made.of, kind,
              fmt::format("output {}[{}]: {} for {}", o, i, got.values[i], want[i]));
      }
      values_ += want.size();
    }
    ++cases_;
  }

  void say(const RecordedCase& of, const std::string& kind, const std::string& what) {
    found_.try_emplace({of.op, kind}, fmt::format("case {}: {}", of.number, what));
  }

  std::vector<Made> made_;
  std::map<std::pair<std::string, std::string>, std::string> found_;
  std::size_t cases_ = 0, values_ = 0;
};

bool is_listed(const std::vector<Difference>& list, const std::string& op,
               const std::string& kind) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Difference& one) { return one.op == op && one.kind == kind; });
}

void check(const Comparison& comparison) {
  const auto listed = testing::recorded_differences();
  for (const auto& [what, example] : comparison.found()) {
    INFO(what.first << ", " << what.second << ": " << example);
    CHECK(is_listed(listed, what.first, what.second));
  }
}

TEST_CASE("drawn cases of every operator give PyTorch's values", "[operators]") {
  Comparison comparison;
  const auto cases = testing::recorded_cases();
  for (const RecordedCase& one : cases) {
    // One of ordinary content and one of special values, which every third case has.
    const auto number = one.number;
    const bool special = number % 3 == 2;
    const std::size_t turn = one.op.size() % 6;
    if (number == (special ? 3 * turn + 2 : 3 * turn + turn % 2)) comparison.add(one);
  }
  comparison.flush();
  CHECK(comparison.cases() > 370);
  check(comparison);
}

TEST_CASE("all recorded cases of every operator give PyTorch's values", "[.operators]") {
  Comparison comparison;
  std::map<std::string, int> count;
  const auto cases = testing::recorded_cases();
  for (const RecordedCase& one : cases) {
    ++count[one.op];
    if (testing::is_drawn(fmt::format("{} {}", one.op, one.number))) comparison.add(one);
  }
  comparison.flush();
  check(comparison);
  WARN(comparison.cases() << " cases of " << count.size() << " operators, " << comparison.values()
                          << " values");
  if (testing::sampled_percent() < 100) return;
  for (const OperatorRow& row : all_operators()) {
    INFO(row.name);
    // Steps of a body have no name elsewhere: the row with the body is compared.
    const bool known = !row.aten.empty() || !row.onnx.empty();
    if (!row.rule.empty() && known) CHECK(count[row.name] >= 20);
  }
  for (const Difference& one : testing::recorded_differences()) {
    INFO(one.op << ", " << one.kind << ": no case shows it any more");
    CHECK(comparison.found().count({one.op, one.kind}) == 1);
  }
}

}  // namespace
}  // namespace cupilot
