// Indices of computed values on a device: the judge computes how far the values at the indices that
// a kernel left lie from the extremes.
#include "task/index_gap.hpp"

#include <fmt/format.h>

#include "backend/cuda/trials.hpp"

namespace cupilot {

const TaskRef* CudaTrials::gap_task_of(const TaskRef& task, std::size_t output) {
  const auto [known, added] = gap_tasks_.try_emplace(fmt::format("{} {}", task.id(), output));
  if (added) {
    if (auto made = index_gap_task(task, output)) known->second.emplace(std::move(*made));
  }
  return known->second ? &*known->second : nullptr;
}

Result<void> CudaTrials::check_indices(const Trial& trial, CaseReport& report) {
  std::size_t o = 0;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    if (!is_output(trial.task->tensors[i])) continue;
    const std::size_t output = o++;
    const TaskRef* gaps = gap_task_of(trial.task, i);
    if (gaps == nullptr || trial.placement.layouts[i].elements == 0) continue;
    auto program = programs_.reference(*gaps, ReferenceBuild::tracked);
    if (!program) return program.error();
    if (auto loaded = device_.load_in_judge((*program)->image); !loaded) return loaded.error();
    auto item = check_item(trial, i);
    if (!item) return item.error();
    auto bound = gap_bound(*gaps, trial.what.workload, trial.what.content);
    if (!bound) return bound.error();
    item->bound = *bound;
    item->scan_poison = item->hash = false;
    const OracleOrder& known = trial.oracles.at(output);
    auto order = oracle_order(*gaps, trial.what, trial.placement, (*gaps)->tensors.size() - 1,
                              **program, {known.begins, known.slice, known.elements});
    if (!order) return order.error();
    order->key += fmt::format(" left {}", ++gaps_computed_);  // of this run alone
    orders_.later(DeviceMessage::prepare, pack(PrepareOrder{{}, {*order}}),
                  [](const std::string&) { return Result<void>(); });
    const CheckOrder check{{*item}, {order->key}, {}, {}, {}};
    orders_.later(
        DeviceMessage::check, pack(check),
        [&report, output](const std::string& payload) -> Result<void> {
          const auto answer = unpack_check_answer(payload);
          if (!answer || answer->outputs.size() != 1)
            return Error{ErrorCode::failure, "the judge gave an answer that fits no check", ""};
          OutputReport& said = report.outputs.at(output);
          if (said.failed == 0) return {};
          said.failed = answer->outputs[0].failed;
          if (said.failed == 0) said.worst_ratio = answer->outputs[0].worst_ratio;
          return {};
        });
  }
  return {};
}

}  // namespace cupilot
