// Recordings of one task on one device, drawn with different seeds, as one.
#pragma once

#include <string>
#include <vector>

#include <cupilot/result.hpp>

// Writes the landscape.jsonl files `from` as one to `out`: the first's header, each strategy once.
// How many there are.
cupilot::Result<int> merge(const std::string& out, const std::vector<std::string>& from);
