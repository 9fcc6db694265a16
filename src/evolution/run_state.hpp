// The fold of a journal: all that a run directory knows.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "evolution/journal.hpp"
#include "evolution/records.hpp"

namespace cupilot {

using SearchEvent = std::variant<Proposal, ResultRecord, DecisionRecord>;

struct RunState {
  HeaderRecord header;
  Task task;
  std::optional<BaselinesRecord> baselines;
  std::vector<SearchEvent> events;  // in the order they happened
  std::vector<FinalRecord> finals;
  std::optional<EndRecord> end;
};

// What the fold keeps of results: their evidence is most of a journal, and a search that goes on needs none of it.
enum class Evidence { dropped, kept };
// Results are parsed by as many threads as there are cores.
Result<RunState> fold(const ReadRecords& read, Evidence evidence = Evidence::dropped);

// Of these phases, those in which hardware counters were read; who waits for a device loses nothing by them.
double counting_seconds(const PhaseSeconds& phases);

Score score_of(const Candidate& candidate);
Best best_of(const FinalRecord& record);
// A sentence for each baseline whose time beside the champion is not its time before the search.
std::vector<std::string> drift_alarms(const Best& best);

// What is told of a search, generation by generation and in all; results may come in any order.
class Ledger {
 public:
  void propose(const Proposal& proposal);
  void settle(const ResultRecord& record);
  // Generations whose slots are all settled, and those before them, not yet taken. `closed`: no slot will be added.
  std::vector<Progress> take_finished(const BaselinesRecord& baselines, bool closed);
  std::int64_t evaluations() const;
  std::int64_t proposed() const { return static_cast<std::int64_t>(rows_.size()); }
  const PhaseSeconds& phases() const { return phases_; }
  double cpu_seconds() const { return cpu_seconds_; }
  // By code, in slot order; an accepted kernel whose PTX an earlier slot had counts as gate.duplicate.
  std::map<std::string, std::int64_t> rejected() const;

 private:
  struct Row {
    int epoch = 0, generation = 0;
    bool settled = false, accepted = false, evaluated = false;
    std::string code, hash, strategy;
    double time_us = 0;
  };
  struct Sum {
    Progress progress;
    std::set<std::string> hashes;
  };
  void count(Sum& sum, std::size_t begin, std::size_t end) const;
  std::vector<Row> rows_;
  PhaseSeconds phases_;  // "search/…"
  double cpu_seconds_ = 0;
  std::size_t taken_ = 0;  // rows of generations already taken
  Sum sum_;                // over those
};

}  // namespace cupilot
