// A run's proposals with their results, from one walk over its journal.
#include <algorithm>
#include <map>

#include <cupilot/parts/run_report.hpp>

#include "base/guard.hpp"
#include "evolution/journal/tally.hpp"

namespace cupilot {
namespace {

Result<std::vector<RunOutcome>> outcomes_from_one_walk(Host& host, const std::string& run_dir) {
  std::map<std::int64_t, Strategy> proposed;
  std::vector<RunOutcome> outcomes;
  const auto walk = walk_run(host, run_dir, [&](const SearchEvent& event, const FramedRecord&) {
    if (const auto* proposal = std::get_if<Proposal>(&event))
      proposed.insert_or_assign(proposal->slot, proposal->strategy);
    if (const auto* result = std::get_if<ResultRecord>(&event))
      outcomes.push_back({result->slot, {}, result->candidate});
  });
  if (!walk) return walk.error();
  for (RunOutcome& one : outcomes) one.proposed = proposed[one.slot];
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const RunOutcome& a, const RunOutcome& b) { return a.slot < b.slot; });
  return outcomes;
}

}  // namespace

Result<std::vector<RunOutcome>> outcomes_of_run(const std::string& run_dir) {
  return guarded([&] { return outcomes_from_one_walk(real_host(), run_dir); });
}

}  // namespace cupilot
