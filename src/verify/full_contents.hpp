// Contents that a finalist meets at a time shape in full.
#pragma once

#include <span>

#include <cupilot/parts/trial.hpp>
#include <cupilot/task.hpp>

namespace cupilot {

struct FullContent {
  ContentKind kind;
  std::uint64_t seed = 0;  // added to the battery's
};

// Most telling first; without lines of one value where nothing counts.
std::span<const FullContent> contents_in_full(const Task& task);

// True if they are those of a task whose inputs are all whole numbers.
bool are_of_counts(std::span<const FullContent> contents);

}  // namespace cupilot
