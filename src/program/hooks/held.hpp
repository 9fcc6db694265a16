// Finds what a thread keeps of an element while the folds of its row are computed.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <cupilot/task.hpp>

#include "program/hooks/graph_site.hpp"

namespace cupilot {

struct HeldElements {
  std::set<std::string> tensors{};  // that folds read at the element itself
  std::int64_t values = 0;          // 1: all that is computed of them is computed of one stage
};

// All tensors that are read at the element itself where the graph has no folds.
HeldElements held_elements(const Task& task, const GraphSite& site);

}  // namespace cupilot
