#include "task/stored_task.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "task/content.hpp"

namespace cupilot {
namespace {

const ReferenceStage* stage_named(const Task& task, const std::string& name) {
  const auto& stages = task.reference.stages;
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const ReferenceStage& one) { return one.name == name; });
  return at == stages.end() ? nullptr : &*at;
}

bool is_rounded_output(const Task& task, const std::string& name) {
  const Tensor* tensor = find_tensor(task, name);
  return tensor != nullptr && tensor->role == Role::out &&
         unit_roundoff(tensor->type) > unit_roundoff(DType::f32);
}

}  // namespace

std::optional<StoredTask> stored_task(const Task& task, std::size_t output) {
  if (!task.repeats.empty() || task.reference.stages.empty()) return std::nullopt;
  const std::string& made = task.tensors.at(output).name;
  std::set<std::string> met = {made}, stored;
  std::vector<std::string> next = {made};
  while (!next.empty()) {
    const ReferenceStage* const stage = stage_named(task, next.back());
    next.pop_back();
    if (stage == nullptr) continue;
    for (const StageRead& read : stage->reads) {
      if (!met.insert(read.source).second) continue;
      if (is_rounded_output(task, read.source)) {
        stored.insert(read.source);
      } else {
        next.push_back(read.source);
      }
    }
  }
  if (stored.empty()) return std::nullopt;
  StoredTask out{task, {}};
  std::erase_if(out.task.reference.stages,
                [&](const ReferenceStage& one) { return stored.contains(one.name); });
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    if (!stored.contains(task.tensors[i].name)) continue;
    out.task.tensors[i].role = Role::in;
    out.stored.push_back(i);
  }
  return out;
}

}  // namespace cupilot
