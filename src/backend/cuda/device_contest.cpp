// Contestants beside judge and runner: the slots' descriptors are handed on to them.
#include <algorithm>

#include "backend/cuda/device.hpp"
#include "base/phases.hpp"
#include "base/stop.hpp"

namespace cupilot {

Result<std::string> CudaDevice::contestant(const std::string& name) {
  if (hello_.sharing != Sharing::vmm) {
    return Error{ErrorCode::no_device,
                 name + " cannot map the judge's memory: " + hello_.sharing_note,
                 "leave out --against"};
  }
  auto says = contest_.says(name);
  if (!says && stop_flags().cancelled()) return stopped_error();
  return says;
}

Result<std::variant<DeviceRun, RunnerFault>> CudaDevice::contest(const ContestOrder& order,
                                                                 double seconds) {
  using Outcome = std::variant<DeviceRun, RunnerFault>;
  const Phase phase("contestants", PhaseCpu::of_phase_around);
  if (hello_.sharing != Sharing::vmm)
    return Outcome(RunnerFault{"measure.failed", "memory is not shared by handles", "", false});
  std::vector<SharedSlot> shared;
  for (const Slot& slot : slots_) {
    const bool used = std::any_of(order.tensors.begin(), order.tensors.end(),
                                  [&](const Region& one) { return one.slot == slot.number; });
    if (used) shared.push_back({slot.number, slot.bytes, slot.writable, slot.descriptor});
  }
  const auto begin = Clock::now();
  auto us = contest_.run(order, shared, seconds);
  const double spent = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  if (us) return Outcome(DeviceRun{{{*us}, spent}, spent});
  if (us.is_error()) return us.error();
  if (us.is_rejected() && stop_flags().cancelled()) return stopped_error();
  return Outcome(RunnerFault{us.rejected().code, us.rejected().message, "", false});
}

}  // namespace cupilot
