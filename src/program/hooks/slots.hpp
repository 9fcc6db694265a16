// Estimates how much a reference text computes, for models asked before a kernel is compiled.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/graph_site.hpp"

namespace cupilot {

// Issue slots that a warp takes for a C++ expression over `real`, an estimate for fp32 on sm_80 and
// later: instructions of exp_, a quotient and the like as NVRTC makes them, none for loads and
// indices. Names of `constants` have known values, so that sides of `? :` that these decide against
// count nothing; those of `still` have one value for all elements, so that what is made of them
// alone counts nothing either. `used`: identifiers of what counts are added.
std::int64_t slots_of(const std::string& text,
                      const std::vector<std::pair<std::string, std::string>>& constants,
                      const std::set<std::string>& still, std::set<std::string>& used);

// Issue slots of what a graph computes.
struct GraphSlots {
  std::int64_t element = 0;  // of its maps and terms
  std::int64_t row = 0;      // of its maps and of what its folds end with
  std::int64_t operand = 0;  // of an element: maps that folds compute at the coordinates they read
};

// Stages that outputs need count, where constants have the values that they have; none of a site
// that lays no stages out.
GraphSlots graph_slots(const Task& task, const GraphSite& site);

}  // namespace cupilot
