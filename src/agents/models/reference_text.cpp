#include "agents/models/reference_text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cupilot {
namespace {

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string shape_of_name(const Task& task, const std::string& name) {
  const std::vector<Expr>* shape = nullptr;
  if (const Tensor* tensor = find_tensor(task, name)) shape = &tensor->shape;
  for (const Edge& edge : task.edges)
    if (edge.name == name) shape = &edge.shape;
  if (shape == nullptr) return "";
  std::vector<std::string> extents;
  for (const Expr& extent : *shape) extents.push_back(extent.text);
  return fmt::format(" [{}]", listed(extents));
}

std::string attribute_text(const Attribute& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:g}", *real);
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return fmt::format("[{}]", fmt::join(std::get<std::vector<std::int64_t>>(value), ", "));
}

std::string operation_line(const Task& task, const Operation& operation) {
  std::vector<std::string> made, arguments = operation.inputs;
  for (const std::string& name : operation.outputs)
    made.push_back(name + shape_of_name(task, name));
  for (const auto& [name, value] : operation.attributes)
    arguments.push_back(fmt::format("{}={}", name, attribute_text(value)));
  return fmt::format("{}- {}: {} = {}({})\n", operation.repeat.empty() ? "" : "  ", operation.name,
                     listed(made), operation.kind, listed(arguments));
}

std::string repeat_line(const Repeat& repeat) {
  std::string line = fmt::format("- {}: {} steps {}, one after the other, of what follows",
                                 repeat.name, repeat.count.text, repeat.step);
  for (const Carried& one : repeat.carried)
    line += fmt::format("; {} is {} at the first step, then {} of the step before{}", one.name,
                        one.from, one.next,
                        one.last.empty() ? "" : fmt::format(", {} at the end", one.last));
  return line + "\n";
}

std::string operations_text(const Task& task) {
  std::string text, repeat;
  for (const Operation& operation : task.operations) {
    if (operation.repeat != repeat)
      for (const Repeat& one : task.repeats)
        if (one.name == operation.repeat) text += repeat_line(one);
    repeat = operation.repeat;
    text += operation_line(task, operation);
  }
  return text;
}

std::string_view verb_of(const ReferenceStage& stage) {
  switch (stage.combine) {
    case Combine::sum:
      return "sum";
    case Combine::prod:
      return "product";
    case Combine::max:
    case Combine::maxn:
      return "maximum";
    case Combine::min:
    case Combine::minn:
      break;
  }
  return "minimum";
}

std::string ranges(const std::vector<StageAxis>& axes) {
  std::vector<std::string> each;
  for (const StageAxis& axis : axes)
    each.push_back(fmt::format("{} < {}", axis.name, axis.extent.text));
  return listed(each);
}

// "h(r < rows) = sum over k < 8 of x(r, k) * w(k), where acc is …".
std::string stage_line(const ReferenceStage& stage) {
  std::string line = fmt::format("- {}({}) = ", stage.name, ranges(stage.free));
  if (stage.kind == StageKind::map)
    line += stage.term;
  else
    line += fmt::format("{}{} over {} of {}", stage.kind == StageKind::scan ? "running " : "",
                        verb_of(stage), ranges(stage.over), stage.term);
  if (!stage.finish.empty() && stage.finish != "acc")
    line += fmt::format("; of that, acc, in the end {}", stage.finish);
  std::vector<std::string> where;
  for (const StageRead& read : stage.reads) {
    const std::string at = read.at.empty() ? "" : fmt::format("({})", listed(read.at));
    if (read.name != read.source || !at.empty())
      where.push_back(fmt::format("{} is {}{}", read.name, read.source, at));
  }
  for (const StageAxis& size : stage.sizes)
    where.push_back(fmt::format("{} is {}", size.name, size.extent.text));
  for (const auto& [name, value] : stage.constants)
    if (value.find("Absent") == std::string::npos)
      where.push_back(fmt::format("{} is {}", name, value));
  return line + (where.empty() ? "" : "; " + listed(where)) + "\n";
}

}  // namespace

std::string reference_text(const Task& task) {
  if (!task.reference.text.empty()) return task.reference.text;
  std::string text = operations_text(task), folds;
  for (const ReferenceStage& stage : task.reference.stages)
    if (task.operations.empty() || stage.kind != StageKind::map) folds += stage_line(stage);
  return task.operations.empty() || folds.empty()
             ? text + folds
             : text + "in exact terms, what runs over more than one element:\n" + folds;
}

}  // namespace cupilot
