// A task's graph and content as a contestant is told them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cupilot/parts/trial.hpp>
#include <cupilot/result.hpp>
#include <cupilot/task.hpp>

#include "trusted/content.cuh"

namespace cupilot {

// JSON: tensors with their shapes at this workload, and operations. Error usage: the task is no
// graph of operators, or an extent has no value.
Result<std::string> contestant_graph(const Task& task, const Workload& workload);

// Elements of an input, drawn, with the first and the last one: their places in storage, and the
// SHA-256 of their bytes as the recipe gives them.
struct ContentDigest {
  std::size_t tensor = 0;
  std::int64_t span = 0;  // elements of storage
  std::vector<std::int64_t> places;
  std::string sha256;
};
ContentDigest content_digest(const FillParams& recipe, std::size_t tensor, std::uint64_t seed);

}  // namespace cupilot
