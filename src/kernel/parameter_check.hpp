// Compares a launch's argument list with the parameters that its kernel declares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/parts/compiled_kernel.hpp>
#include <cupilot/parts/launch_plan.hpp>
#include <cupilot/parts/resolved_plan.hpp>

namespace cupilot {

// `bytes` 0: the plan alone cannot tell (a tensor's pointer or a scalar by value), 1 to 8 bytes.
// `alignment` 0: any, as of a record.
struct ParameterSize {
  int bytes = 0;
  int alignment = 0;
};

// Before the task is known: maps 128 bytes aligned to 64, numbers and records their bytes, buffers
// 8, other names unknown.
std::vector<ParameterSize> expected_parameters(const LaunchPlan& plan, const PlanLaunch& launch);

// At a workload: exact.
std::vector<ParameterSize> expected_parameters(const ResolvedLaunch& launch);

// nullopt when the kernel declares exactly these; else a sentence that names the first difference.
std::optional<std::string> parameter_mismatch(const std::vector<ParameterSize>& expected,
                                              const EntryFacts& entry);

}  // namespace cupilot
