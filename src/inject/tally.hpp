// Counts how often each distinct launch was met, and what was not kept.
#pragma once

#include <cstdint>

namespace cupilot::inject {

enum class Unkept { recorded, graph, beyond, other, unknown };

void count(Unkept why);
// True if so many distinct launches are kept that no other may be.
bool is_full();
// Counts a launch by its key. Returns the number that a new one gets, or 0: it is known, or beyond
// what is kept.
std::uint64_t number_of(std::uint64_t key);
void note_process();

}  // namespace cupilot::inject
