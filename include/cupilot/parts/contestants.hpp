// Programs of others that a champion is timed against: PyTorch in the user's own python3, which
// computes the task's graph over the judge's memory (docs/formats/suite.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct Contestant {
  std::string name{};      // "torch-compile"
  std::string says{};      // a sentence for a person
  bool benchmark = false;  // runs with torch.backends.cudnn.benchmark
  bool counts = true;      // false: no mean and no count has it
};

// All that are known.
std::vector<Contestant> contestants();
// True for the name of a contestant.
bool is_contestant(std::string_view name);
// Returns the reason why a contestant takes no part in a task, as where it would compute what
// another does; "": it takes part.
std::string why_not(std::string_view contestant, const Task& task);
// Error usage names the first that is unknown, and the nearest known one.
Result<void> check_contestants(std::span<const std::string> names);

}  // namespace cupilot
CUPILOT_EXPORTS_END
