// What each technique of a run's champion is worth, by taking it away and timing the rest beside
// the champion.
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
  // How much longer the kernel takes without it, microseconds, and its 95 % interval; below 0: it
  // is faster without. Of a time that a model gave the interval has no width: it says nothing of
  // the model's own error.
  double us = 0, low_us = 0, high_us = 0;
  bool matters = false;    // the interval lies above 0, by more than timing resolves
  std::string kept_for{};  // not empty: it cannot be removed alone, and why; nothing was timed
};

struct Explanation {
  Strategy champion{};
  double champion_us = 0;
  Provenance provenance = Provenance::modelled;
  std::vector<TechniqueWorth> techniques{};  // most first, then those that cannot be removed alone
  // The champion without what does nothing, timed beside it again; the champion itself where
  // nothing could go.
  Strategy essential{};
  double essential_ratio = 1;            // its time over the champion's
  double ratio_low = 1, ratio_high = 1;  // 95 %
  std::vector<std::string> dropped{};    // techniques that it lacks
  std::vector<std::string>
      put_back{};  // that do nothing alone, but were missed when they went together
};

struct ExplainOptions {
  int rounds = 15;            // visits of each contestant
  Backend* screen = nullptr;  // Pipe::screen
};

// Of the run's confirmed champion, on the device it was made on or another. Error{no_candidate}:
// there is none, or it has no strategy that the space can take apart.
Result<Explanation> explain(const std::string& run_dir, Backend& backend,
                            const ExplainOptions& options = {});

}  // namespace cupilot
CUPILOT_EXPORTS_END
