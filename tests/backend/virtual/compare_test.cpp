// Elements against the oracle: what a graph's honest executions excuse.
#include "catch.hpp"

#include <cstring>

#include "backend/oracle/inputs.hpp"
#include "backend/oracle/memory.hpp"
#include "backend/oracle/reference_values.hpp"
#include "backend/virtual/run.hpp"

namespace cupilot {
namespace {

constexpr std::size_t lines = 2, width = 4, output = 1;

// exp of relu of two lines of four elements.
Task chain() {
  Task task;
  task.name = "chain";
  task.axes = {{"rows"}, {"cols"}};
  task.tensors = {{.name = "x", .shape = {"rows", "cols"}},
                  {.name = "y", .role = Role::out, .shape = {"rows", "cols"}}};
  task.operations = {{"act", "relu", {"x"}, {"z"}, {}}, {"power", "exp", {"z"}, {"y"}, {}}};
  task.time_shapes = {{{{"rows", 2}, {"cols", 4}}}};
  task.check_shapes = task.time_shapes;
  const auto completed = complete(task);
  if (!completed) FAIL(completed.error().message);
  return task;
}

// A case's memory in which the output holds `values`.
VirtualMemory holding(const Task& task, const Case& what, const std::vector<float>& values) {
  static const ResolvedPlan plan;
  static VirtualInputs inputs(1 << 20);
  auto memory = VirtualMemory::make(TaskRef(task), what, plan, inputs);
  if (!memory) FAIL(memory.error().message);
  if (auto filled = memory->fill_tensors(inputs, Poison{}); !filled) FAIL(filled.error().message);
  const std::size_t buffer = memory->tensor(output);
  memory->device().mark_written(buffer);
  std::memcpy(memory->device().data(buffer).data(), values.data(), values.size() * sizeof(float));
  return std::move(*memory);
}

// Faulty elements, where element `at` errs by `error` and honest ones of the first line by 1e-4.
OutputReport report_of(const Task& task, std::size_t at, double error,
                       ContentKind kind = ContentKind::ordinary) {
  Case what;
  what.workload = task.time_shapes[0];
  what.content = {.seed = 3, .kind = kind};
  std::vector<float> found(lines * width, 1.0f), honest(lines * width, 1.0f);
  found[at] = static_cast<float>(1 + error);
  honest[0] = 1 + 1e-4f;
  VirtualMemory memory = holding(task, what, found), ran = holding(task, what, honest);
  VirtualMemory* const plain[] = {&ran};
  const OracleValues oracle{
      {0}, std::vector<double>(lines * width, 1), std::vector<double>(lines * width, 1)};
  const auto report =
      compare_output(task, output, what.workload, what.content, memory, oracle, plain);
  if (!report) FAIL(report.error().message);
  CHECK(report->compared == static_cast<std::int64_t>(lines * width));
  return *report;
}

TEST_CASE("an element of a graph may err some times what honest executions err on its line") {
  const Task task = chain();
  struct Row {
    const char* name;
    std::size_t at;
    double error;
    std::int64_t failed, excused;
  };
  for (const Row& row :
       {Row{"exact", 2, 0, 0, 0}, Row{"seven times", 2, 7e-4, 0, 1}, Row{"below", 2, -7e-4, 0, 1},
        Row{"nine times", 2, 9e-4, 1, 0}, Row{"on a line without errors", 5, 7e-4, 1, 0}}) {
    INFO(row.name);
    const OutputReport report = report_of(task, row.at, row.error);
    CHECK(report.failed == row.failed);
    CHECK(report.excused == row.excused);
  }
}

TEST_CASE("one operation is excused by nothing, and neither are exact values") {
  Task one = chain();
  one.operations.erase(one.operations.begin());
  CHECK(report_of(one, 2, 7e-4).failed == 1);
  Task exact = chain();
  exact.tensors[output].check.kind = CheckKind::bitwise;
  CHECK(report_of(exact, 2, 7e-4).failed == 1);
}

}  // namespace
}  // namespace cupilot
