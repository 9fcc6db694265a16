#include "task/prepared.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace cupilot {

std::vector<bool> prepared_operations(const Task& task) {
  std::set<std::string> constants;
  for (const Tensor& tensor : task.tensors) {
    if (tensor.role == Role::constant) constants.insert(tensor.name);
  }
  std::vector<bool> prepared;
  for (const Operation& operation : task.operations) {
    const auto is_constant = [&](const std::string& name) {
      return name.empty() || constants.contains(name);
    };
    const auto is_edge = [&](const std::string& name) {
      return find_tensor(task, name) == nullptr;
    };
    const auto& inputs = operation.inputs;
    const auto& outputs = operation.outputs;
    const bool here = operation.repeat.empty() && !inputs.empty() &&
                      std::all_of(inputs.begin(), inputs.end(), is_constant) &&
                      std::all_of(outputs.begin(), outputs.end(), is_edge);
    prepared.push_back(here);
    if (here) constants.insert(outputs.begin(), outputs.end());
  }
  return prepared;
}

}  // namespace cupilot
