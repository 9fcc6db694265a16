// The roofline of a run, gathered while its journal is walked.
#pragma once

#include <cupilot/parts/roofline_chart.hpp>

#include "evolution/journal/tally.hpp"
#include "evolution/report/thinned.hpp"

namespace cupilot {

inline constexpr std::size_t most_points = 4000;  // most points of a picture

class RooflineGatherer {
 public:
  void take(const SearchEvent& event);
  Result<RooflineChart> chart(const RunWalk& walk) const;

 private:
  double best_ = 0;
  Thinned<RooflinePoint> population_{most_points};
  std::vector<RooflinePoint> path_;
};

}  // namespace cupilot
