#include "program/equal_parts.hpp"

#include <map>

#include <fmt/format.h>

namespace cupilot {
namespace {

// Gives tensors, edges and operations names by their order.
void rename_by_order(Task& task) {
  std::map<std::string, std::string> names;
  const auto renamed = [&](std::string& name, const char* prefix) {
    if (name.empty()) return;
    name = names.emplace(name, fmt::format("{}{}", prefix, names.size())).first->second;
  };
  for (Tensor& tensor : task.tensors) renamed(tensor.name, "t");
  for (Tensor& tensor : task.tensors) renamed(tensor.check.of, "t");
  for (std::size_t i = 0; i < task.operations.size(); ++i) {
    Operation& operation = task.operations[i];
    operation.name = fmt::format("o{}", i);
    for (std::string& name : operation.inputs) renamed(name, "e");
    for (std::string& name : operation.outputs) renamed(name, "e");
  }
  for (Edge& edge : task.edges) renamed(edge.name, "e");
}

}  // namespace

std::string kind_of(const PartTask& part, const Task* edges) {
  if (!part.repeat.empty() || !part.task.repeats.empty() || part.only_views) return "";
  Task task = part.task;
  task.name.clear();
  for (Tensor& tensor : task.tensors) {
    const bool measured =
        edges != nullptr && find_edge(*edges, part.tensors.at(tensor.name)) != nullptr;
    if (measured) tensor.fill = {};
  }
  // A family's text has names of its own; stages follow from the operations.
  if (!task.operations.empty() && task.reference.text.empty()) {
    rename_by_order(task);
    task.reference = {};
  }
  std::string kind = task_id(task);
  for (const auto& [axis, extent] : part.axes) kind += fmt::format(" {}={}", axis, extent.text);
  return kind;
}

PartTask told_as(const PartTask& own, const PartTask& other) {
  PartTask told = other;
  told.name = own.name;
  told.places.clear();
  for (std::size_t i = 0; i < own.task.tensors.size(); ++i) {
    const std::string &name = other.task.tensors[i].name, &of_own = own.task.tensors[i].name;
    told.tensors[name] = own.tensors.at(of_own);
    if (const auto place = own.places.find(of_own); place != own.places.end())
      told.places[name] = place->second;
  }
  return told;
}

}  // namespace cupilot
