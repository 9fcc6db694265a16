// The fold of a journal: all that a run directory knows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evolution/journal/events.hpp"
#include "evolution/journal/records.hpp"

namespace cupilot {

using SearchEvent = std::variant<Proposal, ResultRecord, DecisionRecord>;

struct RunState {
  HeaderRecord header;
  Task task;
  std::optional<BaselinesRecord> baselines;
  std::vector<SearchEvent> events;  // in the order they happened
  std::vector<FinalRecord> finals;
  std::optional<EndRecord> end;
  bool models = false;  // were in its seats, from the beginning or since a resume
};

// Selects what the fold keeps of results: their evidence is most of a journal, and a search that
// goes on needs none of it.
enum class Evidence { dropped, kept };
Result<RunState> fold(const ReadRecords& read, Evidence evidence = Evidence::dropped);

// Folds piece by piece and keeps no events: they go to `sink`, each with its record.
using EventSink = std::function<void(SearchEvent event, const FramedRecord& record)>;
class Folding {
 public:
  explicit Folding(EventSink sink, Evidence evidence = Evidence::dropped)
      : sink_(std::move(sink)), evidence_(evidence) {}
  // Results are parsed by as many threads as there are cores.
  Result<void> add(const std::vector<FramedRecord>& records);
  // All but events; the header is there from the first event on.
  const RunState& state() const { return state_; }
  Result<RunState> end();

 private:
  Result<void> take(const FramedRecord& record, std::optional<Result<ResultRecord>>& result);
  EventSink sink_;
  Evidence evidence_;
  RunState state_;
};

// Reads a result with its evidence and its source; `id`: its proposal's.
Result<Candidate> kept_candidate(Host& host, const std::string& run_dir, std::uint64_t id);

void tell_cpu(EvolveReport& report, CpuSpent cpu);

Best best_of(const FinalRecord& record);
// A sentence for each baseline whose time beside the champion is not its time before the search.
std::vector<std::string> drift_alarms(const Best& best);

}  // namespace cupilot
