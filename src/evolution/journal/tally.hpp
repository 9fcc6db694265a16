// A run as a whole, from one walk over its journal that keeps no events.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/host.hpp>

#include "evolution/journal/ledger.hpp"
#include "evolution/journal/prediction_score.hpp"
#include "evolution/journal/run_state.hpp"

namespace cupilot {

// Counts a run's events for its report.
class Tally {
 public:
  void times_are(Provenance how) { how_ = how; }
  void take(const SearchEvent& event);
  // No event follows.
  void close() { take_lines(true); }
  // A line a generation.
  const std::vector<std::string>& lines() const { return lines_; }
  EvolveReport report(const RunState& state, Host& host, const std::string& run_dir) const;

 private:
  void take_lines(bool closed);
  Ledger ledger_;
  std::vector<std::string> lines_;
  std::string stopped_;
  Provenance how_ = Provenance::modelled;
};

struct RunWalk {
  RunState state;  // without events
  RunSummary summary;
};

// `also` sees each event of the search, with its record.
using EventVisitor = std::function<void(const SearchEvent& event, const FramedRecord& record)>;
Result<RunWalk> walk_run(Host& host, const std::string& run_dir, const EventVisitor& also = {});

}  // namespace cupilot
