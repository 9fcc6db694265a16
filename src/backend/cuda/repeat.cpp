// Running a case again: equal bits each time.
#include "backend/cuda/trials.hpp"
#include "base/phases.hpp"

namespace cupilot {

Result<void> CudaTrials::repeat(Trial& trial, double seconds, CaseReport& report) {
  const Phase phase("repeats");
  RepeatOrder order;
  order.first = true;
  for (std::size_t i = 0; i < trial.task->tensors.size(); ++i) {
    if (is_output(trial.task->tensors[i]))
      order.outputs.push_back({trial.placement.tensors[i], trial.placement.layouts[i]});
  }
  for (int done = 0;; ++done) {
    // Every second launch finds the other poison.
    auto items = initialising(trial, done % 2 == 0 ? FillState::large : FillState::poison);
    if (!items) return items.error();
    order.items = done < trial.what.repeats ? std::move(*items) : std::vector<PrepareItem>();
    orders_.later(
        DeviceMessage::repeat, pack(order), [&](const std::string& payload) -> Result<void> {
          const auto answer = unpack_repeat_answer(payload);
          if (!answer || answer->differing.size() != order.outputs.size())
            return Error{ErrorCode::failure, "the judge gave an answer that fits no repeat", ""};
          for (std::size_t o = 0; o < order.outputs.size(); ++o)
            report.outputs[o].repeat_differs = answer->differing[o];
          return {};
        });
    if (auto told = orders_.tell(); !told) return told;
    report.repeats_done = done;
    if (done >= trial.what.repeats || (order.first && !report.faults.empty())) return {};
    order.first = false;
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
