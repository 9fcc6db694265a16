// Measures the worth of each technique of a run's champion by removing it and timing the rest
// beside the champion.
#pragma once

#include <string>
#include <vector>

#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/parts/export.hpp>
#include <cupilot/result.hpp>
#include <cupilot/strategy.hpp>

CUPILOT_EXPORTS_BEGIN
namespace cupilot {

struct TechniqueWorth {
  std::string technique{};
  // Extra time of the kernel without the technique in microseconds, with its 95 % interval; below
  // 0: it is faster without. Modelled times have an interval of no width, which says nothing about
  // the model's error.
  double us = 0, low_us = 0, high_us = 0;
  bool matters = false;    // the interval lies above 0, by more than the timing resolution
  bool costs = false;      // it lies as far below 0: without the technique the kernel is faster
  std::string kept_for{};  // not empty: the reason why it cannot be removed alone; not timed
};

struct Explanation {
  Strategy champion{};
  double champion_us = 0;
  Provenance provenance = Provenance::modelled;
  // Descending by worth, then those that cannot be removed alone.
  std::vector<TechniqueWorth> techniques{};
  // The champion without its useless techniques, timed beside it again; the champion itself where
  // all are needed.
  Strategy essential{};
  double essential_ratio = 1;            // its time over the champion's
  double ratio_low = 1, ratio_high = 1;  // 95 %
  std::vector<std::string> dropped{};    // techniques removed from it
  std::vector<std::string>
      put_back{};  // Techniques without effect alone whose joint removal cost time.
};

struct ExplainOptions {
  int rounds = 15;            // visits of each contestant
  Backend* screen = nullptr;  // Pipe::screen
};

// Explains the run's confirmed champion, on its own device or another. Error{no_candidate}: the run
// has none, or its strategy is outside of the space.
Result<Explanation> explain(const std::string& run_dir, Backend& backend,
                            const ExplainOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
