// Judges an output that is made of another output as the kernel stored that one
// (docs/formats/numerics.md, "Outputs that later operators read").
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <cupilot/task.hpp>

namespace cupilot {

struct StoredTask {
  Task task{};
  std::vector<std::size_t> stored{};  // outputs that are inputs of it
};

// The task with those outputs as inputs that the stages of output `output` read and whose type
// rounds more than fp32. nullopt: there are none, or a loop makes them.
std::optional<StoredTask> stored_task(const Task& task, std::size_t output);

}  // namespace cupilot
