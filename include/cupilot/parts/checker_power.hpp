// Proves that a task's own check can tell right from wrong, before the task may be searched.
#pragma once

#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

// The wrong outputs that a check rejects.
struct PowerReport {
  std::string task{};                // task_id
  Workload workload{};               // shape of the demonstration
  int fakes = 0;                     // wrong outputs offered, all rejected
  std::vector<std::string> shown{};  // a sentence per output: rejected fakes, inputs that change it
  std::vector<std::string>
      exempt{};  // Fakes that equal the right answer or that the contract allows, with the reason.
  double seconds = 0;
};

// Offers fake outputs (zeros, ones, the mean, copies of inputs, shifted, one row for all, negated,
// scaled by 1 + 2^-10, each lower precision) to the comparison that candidates go through, and
// moves each input by a tenth. Error usage names the fake that passed, the output and what to
// change in the task. Results are cached by task id and backend within the process. Any thread.
Result<PowerReport> check_power(const TaskRef& task, Backend& backend);

}  // namespace cupilot
CUPILOT_EXPORTS_END
