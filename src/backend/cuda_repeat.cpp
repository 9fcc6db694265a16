// Running a case again: equal bits each time.
#include "backend/cuda_trials.hpp"
#include "base/phases.hpp"

namespace cupilot {

Result<void> CudaTrials::repeat(Trial& trial, double seconds, CaseReport& report) {
  const Phase phase("repeats");
  RepeatOrder order;
  order.first = true;
  for (std::size_t i = 0; i < trial.task.tensors.size(); ++i) {
    if (is_output(trial.task.tensors[i])) order.outputs.push_back({trial.placement.tensors[i], trial.placement.layouts[i]});
  }
  for (int done = 0;; ++done) {
    // Every second launch finds the other poison.
    auto items = dressing(trial, done % 2 == 0 ? Inside::large : Inside::poison);
    if (!items) return items.error();
    order.items = done < trial.what.repeats ? std::move(*items) : std::vector<PrepareItem>();
    auto payload = device_.judge(DeviceMessage::repeat, pack(order));
    if (!payload) return payload.error();
    const auto answer = unpack_repeat_answer(*payload);
    if (!answer || answer->differing.size() != order.outputs.size())
      return Error{ErrorCode::failure, "the judge gave an answer that fits no repeat", ""};
    order.first = false;
    for (std::size_t o = 0; o < order.outputs.size(); ++o) report.outputs[o].repeat_differs = answer->differing[o];
    report.repeats_done = done;
    if (done >= trial.what.repeats) return {};
    auto ran = device_.run(*trial.kernel->image, trial.kernel->run, seconds);
    if (ran && std::holds_alternative<RunnerFault>(*ran) && std::get<RunnerFault>(*ran).vanished) {
      auto again = device_.judge(DeviceMessage::prepare, pack(PrepareOrder{order.items, {}}));
      if (!again) return again.error();
      ran = device_.run(*trial.kernel->image, trial.kernel->run, seconds);
    }
    if (!ran) return ran.error();
    if (const auto* fault = std::get_if<RunnerFault>(&*ran)) {
      report.faults.push_back(fault_of(*fault));
      return {};
    }
  }
}

}  // namespace cupilot
