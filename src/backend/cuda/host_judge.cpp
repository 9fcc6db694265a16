// Outputs that the calling program judges, where this process can read the device's memory.
#include <algorithm>

#include <fmt/core.h>

#include "backend/cuda/trials.hpp"
#include "task/host_judge.hpp"

namespace cupilot {

Result<void> CudaTrials::can_judge(const Task& task) const {
  const auto judged = std::find_if(task.tensors.begin(), task.tensors.end(), is_judged_by_host);
  if (judged == task.tensors.end() || device_.hello().sharing == Sharing::own) return {};
  return Error{ErrorCode::usage,
               fmt::format("output {} has a judge of the calling program's, {}, which cannot read "
                           "the memory of this device: it is another process's",
                           judged->name, judged->check.of),
               "open a virtual device or a device in this process (open_in_process), or use check "
               "within, bitwise, index_of or close"};
}

Result<void> CudaTrials::ask_judges(const Trial& trial, CaseReport& report) {
  const auto& tensors = trial.task->tensors;
  if (!has_host_judge(trial.task)) return {};
  // Tells what is put off, which would overwrite this memory.
  if (auto told = orders_.tell(); !told) return told;
  std::vector<std::vector<std::byte>> stored;
  for (const Region& region : trial.placement.tensors) {
    auto bytes = device_.read_back(region);
    if (!bytes) return bytes.error();
    stored.push_back(std::move(*bytes));
  }
  const std::vector<std::span<const std::byte>> bytes(stored.begin(), stored.end());
  for (OutputReport& output : report.outputs) {
    const auto tensor = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const Tensor& one) { return one.name == output.tensor; });
    if (tensor == tensors.end() || !is_judged_by_host(*tensor)) continue;
    OutputReport judged;
    judged.tensor = output.tensor;
    judged.elements = judged.compared = output.elements;
    judged.never_written = output.never_written;
    judged.bits_hash = output.bits_hash;
    output = std::move(judged);
    if (output.never_written > 0) continue;
    auto reason = host_judgement(trial.task, static_cast<std::size_t>(tensor - tensors.begin()),
                                 trial.what.workload, bytes);
    if (!reason) return reason.error();
    if (!reason->empty()) report.faults.push_back({"verify.judge", *reason, output.tensor});
  }
  return {};
}

}  // namespace cupilot
