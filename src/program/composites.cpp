#include "program/composites.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "task/identifiers.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

// The operation's name for a name of its row's body.
std::string name_in(const Operation& composite, const OperatorRow& row, const std::string& name) {
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    if (plain_role(row.inputs[i]) == name)
      return i < composite.inputs.size() ? composite.inputs[i] : "";
  }
  for (std::size_t i = 0; i < composite.outputs.size(); ++i) {
    if (row.outputs[i] == name) return composite.outputs[i];
  }
  return composite.name + "_" + name;
}

Operation step_of(const Operation& composite, const OperatorRow& row, Operation step) {
  step.name = composite.name + "_" + step.name;
  for (auto* names : {&step.inputs, &step.outputs}) {
    for (std::string& name : *names)
      if (!name.empty()) name = name_in(composite, row, name);
  }
  while (!step.inputs.empty() && step.inputs.back().empty()) step.inputs.pop_back();
  for (auto& [name, value] : step.attributes) {
    const auto* word = std::get_if<std::string>(&value);
    if (word == nullptr || !word->starts_with('$')) continue;
    const std::string own = word->substr(1);
    const auto given = composite.attributes.find(own);
    value = given != composite.attributes.end() ? given->second : row.defaults.at(own);
  }
  return step;
}

// The task with the bodies of these operations. Error usage: a body does not fit.
Result<ComposedTask> with_bodies(const Task& given, const std::set<int>& composites) {
  ComposedTask out{.given = given, .task = given, .replaced = composites};
  out.task.operations.clear();
  for (int i = 0; i < static_cast<int>(given.operations.size()); ++i) {
    const Operation& operation = given.operations[static_cast<std::size_t>(i)];
    std::vector<Operation> steps = {operation};
    if (composites.contains(i)) {
      const OperatorRow& row = *find_operator(operation.kind);
      steps = row.body->operations;
      for (Operation& step : steps) step = step_of(operation, row, std::move(step));
    }
    out.origin.insert(out.origin.end(), steps.size(), i);
    out.task.operations.insert(out.task.operations.end(), steps.begin(), steps.end());
  }
  if (composites.empty()) return out;
  out.task.reference = {};
  out.task.edges.clear();
  if (auto completed = complete(out.task); !completed) return completed.error();
  if (auto valid = validate(out.task); !valid) return valid.error();
  return out;
}

// True where the row's condition holds at the operation's extents, at each shape to be timed.
bool is_offered(const OperatorRow& row, const Task& alone) {
  const Expr when = renamed(row.body->when.text, [&](const std::string& word) {
    std::optional<std::string> extent;
    for (const ReferenceStage& stage : alone.reference.stages) {
      for (const auto* axes : {&stage.free, &stage.over}) {
        for (const StageAxis& axis : *axes)
          if (axis.name == word) extent = "(" + axis.extent.text + ")";
      }
    }
    return extent;
  });
  return std::all_of(alone.time_shapes.begin(), alone.time_shapes.end(), [&](const Workload& one) {
    const auto holds = evaluate_or_error(when, task_scope(alone, one));
    return holds && *holds != 0;
  });
}

bool is_replaced(const Task& given, int number, const Families& families) {
  const Operation& operation = given.operations[static_cast<std::size_t>(number)];
  const OperatorRow* row = find_operator(operation.kind);
  if (row == nullptr || !row->body || !operation.repeat.empty() ||
      operation.outputs.size() != row->outputs.size())
    return false;
  const auto alone = graph_part(given, {number});
  return alone && (is_offered(*row, alone->task) || !served_part(given, Part{number}, families));
}

// A part of a task in which some composites are one operation again.
struct FoldedPart {
  Task task{};
  Part part{};
};

// nullopt: no composite lies in the part whole.
std::optional<FoldedPart> folded(const ComposedTask& program, const Part& part) {
  std::set<int> kept, whole;
  for (const int i : program.replaced) {
    const auto steps = std::count(program.origin.begin(), program.origin.end(), i);
    const auto here = std::count_if(part.begin(), part.end(), [&](int operation) {
      return program.origin[static_cast<std::size_t>(operation)] == i;
    });
    (here == steps ? whole : kept).insert(i);
  }
  if (whole.empty()) return std::nullopt;
  auto made = with_bodies(program.given, kept);
  if (!made) return std::nullopt;
  FoldedPart out{.task = std::move(made->task)};
  std::set<std::string> names;
  for (const int operation : part) {
    const auto at = static_cast<std::size_t>(operation);
    const bool folds = whole.contains(program.origin[at]);
    names.insert(folds ? program.given.operations[static_cast<std::size_t>(program.origin[at])].name
                       : program.task.operations[at].name);
  }
  for (int i = 0; i < static_cast<int>(out.task.operations.size()); ++i) {
    if (names.contains(out.task.operations[static_cast<std::size_t>(i)].name))
      out.part.push_back(i);
  }
  return out;
}

}  // namespace

ComposedTask compose_bodies(const Task& given, const Families& families) {
  std::set<int> composites;
  const bool staged = given.reference.text.empty() && !given.reference.stages.empty();
  for (int i = 0; staged && i < static_cast<int>(given.operations.size()); ++i) {
    if (is_replaced(given, i, families)) composites.insert(i);
  }
  auto all = with_bodies(given, composites);
  if (all) return std::move(*all);
  // A name of the task may be one of a body's: that one stays whole.
  ComposedTask out = std::move(*with_bodies(given, {}));
  for (const int i : composites) {
    std::set<int> more = out.replaced;
    more.insert(i);
    if (auto made = with_bodies(given, more)) {
      made->whole = std::move(out.whole);
      out = std::move(*made);
    } else {
      out.whole.push_back(fmt::format("{} stays whole: {}",
                                      given.operations[static_cast<std::size_t>(i)].name,
                                      made.error().message));
    }
  }
  return out;
}

ComposedTask compose_with_views(const Task& given, const Families& families) {
  ComposedTask out = compose_bodies(given, families);
  out.views = find_views(out, families);
  return out;
}

std::vector<std::string> names_of(const ComposedTask& program, const Part& part) {
  const auto fold = folded(program, part);
  std::vector<std::string> names;
  for (const int i : fold ? fold->part : part)
    names.push_back(
        (fold ? fold->task : program.task).operations[static_cast<std::size_t>(i)].name);
  return names;
}

Result<PartTask> served_part(const ComposedTask& program, const Part& part,
                             const Families& families, const EdgeFills& fills) {
  const auto fold = folded(program, part);
  return fold ? served_part(fold->task, fold->part, families, fills, program.views)
              : served_part(program.task, part, families, fills, program.views);
}

}  // namespace cupilot
