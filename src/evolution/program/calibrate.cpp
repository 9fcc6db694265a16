#include "evolution/program/calibrate.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "backend/observed.hpp"
#include "evolution/evaluate/prove_whole.hpp"
#include "program/part_task.hpp"
#include "task/content.hpp"
#include "task/operators.hpp"

namespace cupilot {
namespace {

constexpr std::uint64_t calibration_seed = 1;

struct LowerClass {
  const char* name;
  int bits;  // of the significand, kept of a number's 23
};
constexpr LowerClass classes[] = {{"tf32 or fp16", 10}, {"bf16", 7}};

// A graph with two factors in products: what tensor cores would take.
bool is_contraction(const Operation& operation) {
  const OperatorRow* row = find_operator(operation.kind);
  return row != nullptr && row->factors == 2;
}

// Rounds the numbers of an fp32 tensor to so many bits, ties to even.
void round_to(int bits, std::vector<std::byte>& storage) {
  const int cut = 23 - bits;
  const int type = static_cast<int>(DType::f32);
  const auto count = static_cast<long long>(storage.size()) / size_of(DType::f32);
  for (long long i = 0; i < count; ++i) {
    std::uint64_t word = load_bits(storage.data(), i, type);
    if (!is_finite(decode(word, type))) continue;
    word += (1ull << (cut - 1)) - 1 + (word >> cut & 1);
    store_bits(storage.data(), i, type, word & ~((1ull << cut) - 1));
  }
}

// Runs a graph operation by operation; each result is rounded to its type once.
class OneByOne {
 public:
  OneByOne(ObservingDevice& device, const Task& task) : device_(device), task_(task) {}

  Result<void> cut() {
    for (std::size_t i = 0; i < task_.operations.size(); ++i) {
      auto form = graph_part(task_, Part{static_cast<int>(i)});
      if (!form) return form.error();
      tasks_.emplace_back(form->task);
      forms_.push_back(std::move(*form));
    }
    return {};
  }

  // The storages of the task's tensors; empty where an operation did not end. `lowered`: the
  // operation whose factors keep `bits`.
  Result<Storages> run(const HonestReference& honest, std::size_t lowered, int bits) {
    std::map<std::string, std::vector<std::byte>> values;
    for (std::size_t t = 0; t < task_.tensors.size(); ++t)
      values[task_.tensors[t].name] = honest.inputs[t];
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      auto done = step(i, honest.what.workload, i == lowered ? bits : 0, values);
      if (!done) return done.error();
      if (!*done) return Storages();
    }
    Storages left;
    for (const Tensor& tensor : task_.tensors) left.push_back(values[tensor.name]);
    return left;
  }

 private:
  Result<bool> step(std::size_t number, const Workload& workload, int bits,
                    std::map<std::string, std::vector<std::byte>>& values) {
    const PartTask& form = forms_[number];
    const Operation& operation = form.task.operations.front();
    Workload own;
    for (const auto& [axis, extent] : form.axes) {
      const auto size = evaluate_or_error(extent, task_scope(task_, workload));
      if (!size) return size.error();
      own.sizes[axis] = *size;
    }
    Storages inputs(form.task.tensors.size());
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const Tensor& tensor = form.task.tensors[t];
      if (tensor.role == Role::out) continue;
      inputs[t] = values[form.tensors.at(tensor.name)];
      const auto at = std::find(operation.inputs.begin(), operation.inputs.end(), tensor.name);
      if (bits > 0 && tensor.type == DType::f32 && at - operation.inputs.begin() < 2)
        round_to(bits, inputs[t]);
    }
    auto left = device_.honest(tasks_[number], own, inputs, HonestOrder::blocks);
    if (!left) return left.error();
    if (left->empty()) return false;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const Tensor& tensor = form.task.tensors[t];
      if (tensor.role != Role::in) values[form.tensors.at(tensor.name)] = std::move((*left)[t]);
    }
    return true;
  }

  ObservingDevice& device_;
  const Task& task_;
  std::vector<PartTask> forms_;
  std::vector<TaskRef> tasks_;
};

}  // namespace

Result<std::vector<std::string>> untold_classes(Backend& backend, const Task& task) {
  std::vector<std::string> untold;
  auto* device = dynamic_cast<ObservingDevice*>(&backend);
  if (device == nullptr || !is_proved_as_a_whole(task)) return untold;
  if (!task.repeats.empty()) return std::vector<std::string>{"lower classes within a loop"};
  std::vector<HonestReference> references;
  const TaskRef shared(task);
  for (const Case& what : cases_of_the_whole(task, {}, backend.device(), calibration_seed)) {
    auto honest = honest_reference(backend, shared, what);
    if (!honest) return honest.error();
    references.push_back(std::move(*honest));
  }
  OneByOne executions(*device, task);
  if (auto cut = executions.cut(); !cut) return cut.error();
  for (std::size_t i = 0; i < task.operations.size(); ++i) {
    if (!is_contraction(task.operations[i])) continue;
    for (const LowerClass& lower : classes) {
      WholeProof proof;
      for (const HonestReference& honest : references) {
        if (proof.refused) break;
        const auto left = executions.run(honest, i, lower.bits);
        if (!left) return left.error();
        if (left->empty()) continue;
        if (auto judged = judge_whole(task, honest, *left, proof); !judged) return judged.error();
      }
      if (!proof.refused)
        untold.push_back(fmt::format("{} in {}", task.operations[i].name, lower.name));
    }
  }
  return untold;
}

}  // namespace cupilot
