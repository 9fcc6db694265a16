// Chooses the part of a program that is searched next, by completed slots in their order.
#pragma once

#include <optional>

#include "evolution/journal/program_record.hpp"

namespace cupilot {

// The partition that is fastest by the parts' kernels, or by their floors where they have none yet:
// there the part without a slot that takes longest, else the one with the largest expected gain
// times its share of the time. nullopt: no partition is left.
std::optional<std::size_t> next_part(const ProgramRecord& record);

// Partitions whose parts all have kernels, fastest first.
std::vector<std::vector<std::size_t>> ready_partitions(const ProgramRecord& record);

}  // namespace cupilot
