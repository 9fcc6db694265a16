// Chooses the part of a program that is searched next, by completed slots in their order.
#pragma once

#include <optional>

#include "evolution/journal/program_record.hpp"

namespace cupilot {

// The partition that is fastest by the parts' kernels, or by their floors where they have none yet:
// there the part without a slot that takes longest, else the one with the largest expected gain
// times its share of the time. Of parts of one kind the first, which is searched for all. nullopt:
// no partition is left.
std::optional<std::size_t> next_part(const ProgramRecord& record);

// Partitions whose parts all have kernels, fastest first.
std::vector<std::vector<std::size_t>> ready_partitions(const ProgramRecord& record);

// Counts the parts that a program still needs which holds this one, and all of its parts: of the
// partition with the fewest to search. At least 1.
struct PartsNeeded {
  std::int64_t unsearched = 1;
  std::size_t all = 1;
};
PartsNeeded parts_needed(const ProgramRecord& record, std::size_t part);

// Counts the shares that the time that is left is cut into for this part's slot: parts that its
// program still needs and, before there is one, the program's own evaluation and confirmation, as
// long as two further parts. `has_body`: partitions without this part get as much for each of
// theirs, since a composite and its body are searched in the same time.
std::int64_t time_shares(const ProgramRecord& record, std::size_t part, bool has_body);

}  // namespace cupilot
