// Which shapes a plan is meant for, asked of one workload after another.
#pragma once

#include <vector>

#include <cupilot/parts/device.hpp>
#include <cupilot/parts/kernel_source.hpp>
#include <cupilot/task.hpp>

#include "kernel/plan_program.hpp"

namespace cupilot {

class PlanRequirements {
 public:
  // The arguments must outlive it.
  PlanRequirements(const KernelSource& source, const Task& task, const DeviceSpec& device);
  // True unless resolve() says NotForThisShape before anything is compiled; a plan that it refuses
  // holds.
  bool hold(const Workload& workload) const;

 private:
  const KernelSource& source_;
  const Task& task_;
  const DeviceSpec& device_;
  std::vector<std::string> axes_;        // whose sizes the program takes, after the constants
  std::vector<std::int64_t> constants_;  // their values
  PlanProgram program_;
  std::vector<int> requirements_;
  bool refused_ = false;  // for its names, whatever the workload
};

}  // namespace cupilot
