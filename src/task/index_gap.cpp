#include "task/index_gap.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "task/operators.hpp"

namespace cupilot {
namespace {

// Names of the stages' texts; those of rows and rules begin otherwise.
constexpr const char* right_name = "cupilot_right";
constexpr const char* given_name = "cupilot_given";
constexpr const char* best_name = "cupilot_best";
constexpr const char* found_name = "cupilot_found";

// The input of its operator whose extreme an output is the index of, or "".
std::string chosen_of(const Task& task, const std::string& output) {
  for (const Operation& operation : task.operations) {
    const auto at = std::find(operation.outputs.begin(), operation.outputs.end(), output);
    const OperatorRow* row = find_operator(operation.kind);
    if (at == operation.outputs.end() || row == nullptr || !operation.repeat.empty()) continue;
    const auto& role = row->outputs.at(static_cast<std::size_t>(at - operation.outputs.begin()));
    for (const OperatorStage& stage : row->stages) {
      if (stage.name == role) return stage.index_of;
    }
  }
  return "";
}

bool is_input(const Task& task, const std::string& name) {
  const Tensor* tensor = find_tensor(task, name);
  return tensor != nullptr && tensor->role != Role::out;
}

// A read of a value for each element of the index.
StageRead read_of(const ReferenceStage& index, const char* name, const std::string& source) {
  StageRead read{.name = name, .source = source};
  for (const StageAxis& axis : index.free) {
    read.extents.push_back(axis.extent);
    read.at.push_back(axis.name);
  }
  if (read.extents.empty()) read.extents = {1}, read.at = {"0"};
  return read;
}

// The value at a place of each line, by the index's own coordinates and reads.
ReferenceStage value_at(const ReferenceStage& index, const std::string& name,
                        const std::string& values, const StageRead& place) {
  ReferenceStage stage = index;
  stage.name = name;
  std::erase_if(stage.reads, [&](const StageRead& read) { return read.name != values; });
  stage.reads.push_back(place);
  stage.term = "place == place_(" + place.name + ") ? real(" + values + ") : real(0)";
  stage.combine = Combine::sum;
  stage.finish.clear();
  return stage;
}

}  // namespace

std::optional<Task> index_gap_task(const Task& task, std::size_t output) {
  const Tensor& tensor = task.tensors.at(output);
  if (tensor.role != Role::out || tensor.check.kind != CheckKind::within ||
      (tensor.type != DType::i32 && tensor.type != DType::i64) ||
      task.precision == Precision::integer)
    return std::nullopt;
  const std::string values = chosen_of(task, tensor.name);
  const auto& stages = task.reference.stages;
  const auto index = std::find_if(stages.begin(), stages.end(), [&](const ReferenceStage& stage) {
    return stage.name == tensor.name;
  });
  if (values.empty() || index == stages.end() || !index->repeat.empty()) return std::nullopt;
  const auto read = std::find_if(index->reads.begin(), index->reads.end(),
                                 [&](const StageRead& one) { return one.name == values; });
  if (read == index->reads.end() || is_input(task, read->source)) return std::nullopt;

  const std::string right = "cupilot_right_" + tensor.name, gap = "cupilot_gap_" + tensor.name;
  const std::string best = "cupilot_best_" + tensor.name, found = "cupilot_found_" + tensor.name;
  ReferenceStage chosen = *index, apart;
  chosen.name = right;
  apart.name = gap;
  apart.free = index->free;
  apart.reads = {read_of(*index, right_name, right), read_of(*index, given_name, tensor.name),
                 read_of(*index, best_name, best), read_of(*index, found_name, found)};
  apart.term =
      "place_(cupilot_given) == place_(cupilot_right) ? real(0) : "
      "apart_(cupilot_best, cupilot_found, cupilot_given >= 0 && "
      "cupilot_given < count)";
  apart.sizes = index->sizes;

  Task made = task;
  auto& all = made.reference.stages;
  const auto at = all.begin() + (index - stages.begin());
  const std::vector<ReferenceStage> added = {
      chosen, value_at(*index, best, values, read_of(*index, right_name, right)),
      value_at(*index, found, values, read_of(*index, given_name, tensor.name)), apart};
  all.insert(all.erase(at), added.begin(), added.end());
  made.tensors[output].role = Role::in;
  Tensor distance{.name = gap, .role = Role::out, .shape = tensor.shape, .check = tensor.check};
  distance.type = task.precision == Precision::fp64 ? DType::f64 : DType::f32;
  made.tensors.push_back(std::move(distance));
  return made;
}

Result<BoundParams> gap_bound(const Task& gaps, const Workload& workload, const Content& content) {
  auto bound = bound_params(gaps, gaps.tensors.size() - 1, workload, content);
  if (bound) bound->check = check_gap;
  return bound;
}

}  // namespace cupilot
